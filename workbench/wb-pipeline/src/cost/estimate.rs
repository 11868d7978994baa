//! Time by stage: pure arithmetic from speeds that were measured and sizes that are known or assumed.

use wb_encoder::train::VALIDATION_CANDIDATES;

use super::{lengths::Lengths, probe::Rates};

/// Bytes of code that one thread reads in a second, parses and cleans; assumed, by quickstart's pairs.
const TREE_BYTES_A_SECOND: f64 = 4e6;
/// Bytes of records that are read in a second; assumed.
const RECORD_BYTES_A_SECOND: f64 = 20e6;

/// The work of an experiment, stage by stage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Work {
    /// Lengths of texts.
    pub lengths: Option<Lengths>,
    /// Sources to read; nothing where pairs are prepared already.
    pub data: Option<Reading>,
    /// Mining before training, and while it goes on.
    pub mining: Option<MiningWork>,
    /// Nothing where the number of pairs is not known yet.
    pub training: Option<TrainingWork>,
    /// Benchmarks in the order of the YAML.
    pub benches: Vec<BenchWork>,
    /// Numbers in an embedding.
    pub dim: f64,
    /// Multiplications for a query with a document, where texts are compared by one vector a token.
    pub by_tokens: bool,
}

/// Sources to read.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    /// Bytes of source trees.
    pub code: f64,
    /// Bytes of records.
    pub records: f64,
    /// Threads that parse.
    pub threads: f64,
    /// True where some source's size is not known.
    pub incomplete: bool,
}

/// Hard negatives to mine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MiningWork {
    /// Training pairs, each a query and a document.
    pub pairs: f64,
    /// True where texts are embedded and compared; words are not reckoned.
    pub embeds: bool,
    /// True where the encoder that is trained ranks; another one, which is not measured, is not reckoned.
    pub by_own: bool,
    /// Documents of each query that a cross-encoder reads.
    pub rescored: f64,
    /// Number of minings: once before training, and each refresh.
    pub times: f64,
}

/// Steps to take.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrainingWork {
    /// Steps of each stage, with the hard negatives of a pair.
    pub stages: Vec<(f64, f64)>,
    /// Pairs in a batch.
    pub pairs: f64,
    /// True where each document is read with its anchor before it.
    pub together: bool,
    /// Batches of a step.
    pub accumulate: f64,
    /// Gradient caching: parts of at most so many tokens and so many texts; infinite for no limit.
    pub part: (f64, f64),
    /// True where objectives on tokens go over the code once more.
    pub objectives: bool,
    /// True where a guide or a teacher embeds the texts too, and the held-out pairs once.
    pub guide: bool,
    /// Pairs whose texts it embeds at the most, as its vectors are kept; infinite where they do not fit.
    pub guide_pairs: f64,
    /// Texts that a teacher embeds before training, to shorten its vectors.
    pub sampled: f64,
    /// Number of validations, and of held-out pairs that each embeds.
    pub validations: (f64, f64),
}

/// A benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchWork {
    /// Its name.
    pub name: String,
    /// Queries and documents; nothing where they are not known yet.
    pub texts: Option<(f64, f64)>,
    /// Encoders that embed them.
    pub encoders: f64,
}

/// Seconds of a stage; nothing where they are not known.
#[derive(Debug, Clone, PartialEq)]
pub struct StageCost {
    /// `data`, `mining`, `train`, `bench NAME`.
    pub name: String,
    /// Seconds on the clock.
    pub seconds: Option<f64>,
}

impl TrainingWork {
    /// Steps in all.
    pub fn steps(&self) -> f64 {
        self.stages.iter().map(|(steps, _)| steps).sum()
    }

    /// The most hard negatives that any stage's pairs bring.
    pub fn most_negatives(&self) -> usize {
        self.stages.iter().fold(0.0, |most: f64, (_, negatives)| most.max(*negatives)) as usize
    }

    /// Tokens of one batch whose pairs bring so many hard negatives.
    pub fn batch_tokens(&self, negatives: f64, lengths: Lengths) -> f64 {
        let documents = self.pairs * (1.0 + negatives);
        let anchors = if self.together { documents } else { self.pairs };
        anchors * lengths.query + documents * lengths.document
    }

    /// Tokens of all steps, each counted once however often it is gone through.
    pub fn tokens(&self, lengths: Lengths) -> f64 {
        let of = |(steps, negatives): &(f64, f64)| steps * self.accumulate * self.batch_tokens(*negatives, lengths);
        self.stages.iter().map(of).sum()
    }

    /// Each batch of T tokens, n hard negatives a pair: T forward and backward, T forward once more where gradients are
    /// cached, the code of its positives for objectives, the loss of pairs × pairs · (1 + n) scores; each step an update. All
    /// texts once through the guide, which is taken to be as fast where it was not measured.
    fn seconds(&self, lengths: Lengths, rates: &Rates) -> f64 {
        let guide = rates.guide.unwrap_or(rates.embed);
        let of = |(steps, negatives): &(f64, f64)| {
            let tokens = self.batch_tokens(*negatives, lengths);
            let cached = tokens > self.part.0 || self.pairs * (2.0 + negatives) > self.part.1;
            let again = tokens * f64::from(u8::from(cached));
            let code = if self.objectives { self.pairs * lengths.document } else { 0.0 };
            let scores = self.pairs * self.pairs * (1.0 + negatives);
            let batch = (tokens + code) / rates.train + again / rates.embed + scores * rates.loss;
            steps * (self.accumulate * batch + rates.update)
        };
        let (times, pairs) = self.validations;
        let of_pair = lengths.query + lengths.document;
        // Each anchor of a cross-encoder ranks some documents, and they are read with it.
        let read = if self.together { VALIDATION_CANDIDATES as f64 } else { 1.0 };
        let validation = times * pairs * read * of_pair / rates.embed;
        // Half of the sampled texts are queries.
        let once = self.guide_pairs * (of_pair + self.most_negatives() as f64 * lengths.document);
        let guided = self.tokens(lengths).min(once) + pairs * of_pair;
        let guided = guided * f64::from(u8::from(self.guide)) + self.sampled / 2.0 * of_pair;
        self.stages.iter().map(of).sum::<f64>() + validation + guided / guide
    }
}

impl Work {
    /// Multiplications that compare a query with a document.
    fn products(&self, lengths: Lengths) -> f64 {
        if self.by_tokens { lengths.query * lengths.document * self.dim } else { self.dim }
    }

    /// Seconds of embedding queries and documents and comparing all with all.
    fn ranking(&self, queries: f64, documents: f64, lengths: Lengths, rates: &Rates) -> f64 {
        let tokens = queries * lengths.query + documents * lengths.document;
        tokens / rates.embed + queries * documents * self.products(lengths) / rates.search
    }

    /// The stages in their order, each with its seconds.
    pub fn stages(&self, rates: &Rates) -> Vec<StageCost> {
        let Some(lengths) = self.lengths else { return Vec::new() };
        let mut stages = Vec::new();
        let mut push = |name: &str, seconds| stages.push(StageCost { name: name.to_owned(), seconds });
        if let Some(reading) = self.data {
            let code = reading.code / (TREE_BYTES_A_SECOND * reading.threads.max(1.0));
            let seconds = code + reading.records / RECORD_BYTES_A_SECOND;
            push("data", (!reading.incomplete).then_some(seconds));
        }
        if let Some(mining) = self.mining {
            let is_known = mining.embeds && mining.by_own;
            let ranked = if is_known { self.ranking(mining.pairs, mining.pairs, lengths, rates) } else { 0.0 };
            let read = rates.rerank.map_or(0.0, |rate| mining.pairs * mining.rescored / rate);
            push("mining", Some(mining.times * (ranked + read)).filter(|_| is_known || mining.rescored > 0.0));
        }
        push("train", self.training.as_ref().map(|training| training.seconds(lengths, rates)));
        for bench in &self.benches {
            let seconds = bench
                .texts
                .map(|(queries, documents)| bench.encoders * self.ranking(queries, documents, lengths, rates));
            push(&format!("bench {}", bench.name), seconds);
        }
        stages
    }
}

/// Seconds of all stages that are known.
pub fn total(stages: &[StageCost]) -> f64 {
    stages.iter().filter_map(|stage| stage.seconds).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn rates() -> Rates {
        Rates {
            device: "cpu (2 threads)".to_owned(),
            is_cpu: true,
            took: 4.0,
            embed: 1000.0,
            train: 400.0,
            update: 0.5,
            loss: 1e-3,
            search: 1e6,
            rerank: Some(50.0),
            guide: None,
        }
    }

    pub fn lengths() -> Lengths {
        Lengths { query: 20.0, document: 100.0, assumed: false }
    }

    fn training() -> TrainingWork {
        TrainingWork {
            stages: vec![(10.0, 0.0)],
            pairs: 8.0,
            accumulate: 1.0,
            part: (f64::INFINITY, f64::INFINITY),
            guide_pairs: f64::INFINITY,
            ..TrainingWork::default()
        }
    }

    fn work(training: TrainingWork) -> Work {
        Work { lengths: Some(lengths()), training: Some(training), dim: 10.0, ..Work::default() }
    }

    fn train_seconds(training: TrainingWork) -> f64 {
        let stages = work(training).stages(&rates());
        assert_eq!(stages.len(), 1);
        stages[0].seconds.unwrap()
    }

    fn is(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected, "{found} is not {expected}");
    }

    /// A batch: 8 · (20 + 100) = 960 tokens at 400 a second, 2.4 s; 64 scores, 0.064 s; an update, 0.5 s.
    #[test]
    fn a_plain_training() {
        is(train_seconds(training()), 10.0 * (2.4 + 0.064 + 0.5));
        is(training().tokens(lengths()), 9600.0);
    }

    /// Three negatives: 8 · (20 + 400) = 3,360 tokens, 8.4 s; 256 scores. Twice a step; and 5 steps without any.
    #[test]
    fn negatives_multiply_documents_and_accumulation_batches() {
        let stages = vec![(10.0, 3.0), (5.0, 0.0)];
        let found = train_seconds(TrainingWork { stages: stages.clone(), accumulate: 2.0, ..training() });
        is(found, 10.0 * (2.0 * (8.4 + 0.256) + 0.5) + 5.0 * (2.0 * (2.4 + 0.064) + 0.5));
        let training = TrainingWork { stages, accumulate: 2.0, ..training() };
        is(training.tokens(lengths()), 10.0 * 2.0 * 3360.0 + 5.0 * 2.0 * 960.0);
        is(training.steps(), 15.0);
    }

    /// One more forward pass of 960 tokens at 1,000 a second, where a batch has several parts.
    #[test]
    fn gradient_caching_goes_forward_twice() {
        let plain = train_seconds(training());
        is(train_seconds(TrainingWork { part: (500.0, f64::INFINITY), ..training() }), plain + 10.0 * 0.96);
        is(train_seconds(TrainingWork { part: (f64::INFINITY, 4.0), ..training() }), plain + 10.0 * 0.96);
        is(train_seconds(TrainingWork { part: (960.0, 16.0), ..training() }), plain);
        is(train_seconds(TrainingWork { guide: true, ..training() }), plain + 10.0 * 0.96);
        // 50 held-out pairs and 40 sampled texts more, of 60 tokens.
        let guided = TrainingWork { guide: true, validations: (0.0, 50.0), sampled: 40.0, ..training() };
        is(train_seconds(guided.clone()), plain + 10.0 * 0.96 + 50.0 * 0.12 + 40.0 * 0.06);
        // All of 20 pairs are embedded in the first of four epochs.
        let kept = TrainingWork { guide: true, guide_pairs: 20.0, ..training() };
        is(train_seconds(kept), plain + 20.0 * 0.12);
        // A teacher that is ten times slower.
        let slow = Rates { guide: Some(100.0), ..rates() };
        is(guided.seconds(lengths(), &slow), plain + 10.0 * 9.6 + 60.0 + 24.0);
        // 800 tokens of code at 400 a second.
        is(train_seconds(TrainingWork { objectives: true, ..training() }), plain + 10.0 * 2.0);
        // Three times 50 pairs of 120 tokens at 1,000 a second.
        is(train_seconds(TrainingWork { validations: (3.0, 50.0), ..training() }), plain + 18.0);
    }

    /// 100 queries and 100 documents: 12,000 tokens, 12 s; 10,000 products of 10 numbers at a million a second, 0.1 s;
    /// by tokens 10,000 · 20 · 100 · 10 numbers, 200 s. A cross-encoder reads 30 documents a query at 50 a second: 60 s.
    #[test]
    fn mining_embeds_compares_and_reads() {
        let mining = MiningWork { pairs: 100.0, embeds: true, by_own: true, rescored: 0.0, times: 1.0 };
        let seconds = |mining, by_tokens| {
            let work = Work { mining: Some(mining), by_tokens, ..work(training()) };
            work.stages(&rates())[0].clone()
        };
        let stage = seconds(mining, false);
        assert_eq!(stage.name, "mining");
        is(stage.seconds.unwrap(), 12.1);
        is(seconds(mining, true).seconds.unwrap(), 212.0);
        is(seconds(MiningWork { rescored: 30.0, times: 2.0, ..mining }, false).seconds.unwrap(), 144.2);
        is(seconds(MiningWork { rescored: 30.0, embeds: false, ..mining }, false).seconds.unwrap(), 60.0);
        assert_eq!(seconds(MiningWork { embeds: false, ..mining }, false).seconds, None);
        assert_eq!(seconds(MiningWork { by_own: false, ..mining }, false).seconds, None);
    }

    /// 8 MB of code by two threads at 4 MB a second and 20 MB of records: 1 s each.
    #[test]
    fn stages_come_in_order_and_what_is_not_known_is_left_out_of_the_sum() {
        let reading = Reading { code: 8e6, records: 20e6, threads: 2.0, incomplete: false };
        let known = BenchWork { name: "pairs".to_owned(), texts: Some((100.0, 100.0)), encoders: 2.0 };
        let unknown = BenchWork { name: "cosqa".to_owned(), texts: None, encoders: 2.0 };
        let work = Work { data: Some(reading), benches: vec![known, unknown], ..work(training()) };
        let stages = work.stages(&rates());
        let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(names, ["data", "train", "bench pairs", "bench cosqa"]);
        is(stages[0].seconds.unwrap(), 2.0);
        is(stages[2].seconds.unwrap(), 24.2);
        assert_eq!(stages[3].seconds, None);
        is(total(&stages), 2.0 + 29.64 + 24.2);
        let unknown = Work { data: Some(Reading { incomplete: true, ..reading }), training: None, ..work };
        assert_eq!(unknown.stages(&rates())[..2].iter().filter_map(|stage| stage.seconds).count(), 0);
    }
}
