//! Settings that `train:` allows and that are probably not meant, found without training.

use std::collections::HashMap;

use wb_core::{Pair, Result, fingerprint::text_key};

use super::{config::TrainConfig, sampler::SamplerConfig, table::PairStream};
use crate::{
    losses::{Hardness, LossConfig, MnrlConfig, TripletDistance},
    similarities::SimilarityConfig,
};

/// Facts about the training pairs and the model that lints look at, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DataFacts {
    /// Number of pairs.
    pub pairs: usize,
    /// Number of pairs that bring a hard negative.
    pub with_negatives: usize,
    /// The most hard negatives that a pair brings.
    pub most_negatives: usize,
    /// Number of pairs with a score for the positive and for each hard negative that is used.
    pub with_scores: usize,
    /// The lowest and the highest score of a positive.
    pub scores: Option<[f32; 2]>,
    /// The largest difference between the scores of a positive and of one of its hard negatives, without its sign.
    pub widest_margin: f32,
    /// Number of texts without a label among the pairs.
    pub texts: usize,
    /// Couples of pairs with equal anchors, or with equal positives.
    pub alike: u64,
    /// Length of the model's embeddings.
    pub dim: Option<usize>,
    /// Number of steps that training will have.
    pub steps: Option<u64>,
}

impl DataFacts {
    /// Facts of training pairs, of which so many hard negatives each are used.
    pub fn of(pairs: &dyn PairStream, negatives: usize) -> Result<Self> {
        let mut gathered = Gathered::default();
        pairs.each(&mut |pair| {
            gathered.add(&pair, negatives);
            Ok(())
        })?;
        Ok(gathered.finish())
    }

    /// Facts of the pairs once so many hard negatives are mined for each. A few may get fewer; mining counts those.
    #[must_use]
    pub fn with_mined(self, per_pair: usize) -> Self {
        Self { with_negatives: self.pairs, most_negatives: per_pair, ..self }
    }
}

/// Facts under way, with how often each text stood there.
#[derive(Default)]
struct Gathered {
    facts: DataFacts,
    anchors: HashMap<[u64; 2], u64>,
    positives: HashMap<[u64; 2], u64>,
    both: HashMap<[[u64; 2]; 2], u64>,
}

impl Gathered {
    fn add(&mut self, pair: &Pair, negatives: usize) {
        let facts = &mut self.facts;
        let used = pair.negatives.len().min(negatives);
        facts.pairs += 1;
        if pair.is_text() {
            facts.texts += 1;
            return;
        }
        facts.with_negatives += usize::from(!pair.negatives.is_empty());
        facts.most_negatives = facts.most_negatives.max(pair.negatives.len());
        facts.with_scores += usize::from(pair.scores.len() > used);
        if let [positive, others @ ..] = pair.scores.as_slice() {
            let [low, high] = facts.scores.unwrap_or([*positive; 2]);
            facts.scores = Some([low.min(*positive), high.max(*positive)]);
            let widest = others.iter().take(used).map(|other| (positive - other).abs());
            facts.widest_margin = widest.fold(facts.widest_margin, f32::max);
        }
        let (anchor, positive) = (text_key(&pair.anchor), text_key(&pair.positive));
        *self.anchors.entry(anchor).or_default() += 1;
        *self.positives.entry(positive).or_default() += 1;
        *self.both.entry([anchor, positive]).or_default() += 1;
    }

    fn finish(self) -> DataFacts {
        let couples = |n: &u64| n * (n - 1) / 2;
        let either = self.anchors.values().chain(self.positives.values()).map(couples).sum::<u64>();
        // Couples with both texts equal were counted twice.
        DataFacts { alike: either - self.both.values().map(couples).sum::<u64>(), ..self.facts }
    }
}

/// Sentences about `train:` that begin with the key that they are about. Without facts, those that the config alone tells.
///
/// What cannot be meant at all (a temperature given twice, a guide without a name) is an error of
/// [`TrainConfig::validate`] instead.
pub fn lints(config: &TrainConfig, facts: Option<&DataFacts>) -> Vec<String> {
    let mut lints = Vec::new();
    let (loss, key) = inner(&config.loss);
    accumulation(config, &mut lints);
    warmup(config, facts, &mut lints);
    of_loss(config, loss, &key, &mut lints);
    if let Some(facts) = facts.filter(|facts| facts.pairs > 0) {
        texts(config, facts, &mut lints);
        negatives(config, facts, &mut lints);
        scores(config, loss, &key, facts, &mut lints);
        duplicates(config, loss, &key, facts, &mut lints);
        dims(config, facts, &mut lints);
    }
    lints
}

/// The loss at one length of embeddings, and its key.
fn inner(loss: &LossConfig) -> (&LossConfig, String) {
    match loss {
        LossConfig::Matryoshka(config) => (&config.loss, "train.loss.matryoshka.loss".into()),
        other => (other, "train.loss".into()),
    }
}

fn accumulation(config: &TrainConfig, lints: &mut Vec<String>) {
    let batch = &config.batch;
    if batch.accumulate > 1 && config.loss.needs().in_batch {
        let pairs = batch.pairs * batch.accumulate;
        lints.push(format!(
            "train.batch.accumulate: {} batches of {} do not see each other's documents as negatives; for one batch of {pairs} in as little memory set train.batch.pairs={pairs} train.batch.accumulate=1 train.batch.micro_texts={}, which caches gradients",
            batch.accumulate,
            batch.pairs,
            2 * batch.pairs
        ));
    }
}

fn warmup(config: &TrainConfig, facts: Option<&DataFacts>, lints: &mut Vec<String>) {
    // The planned steps, or else the most that there can be.
    let steps = facts.and_then(|facts| facts.steps).or((config.max_steps > 0).then_some(config.max_steps));
    let Some(steps) = steps else { return };
    let (warmup, name) = (config.schedule.warmup_steps(steps), config.schedule.name());
    if warmup > 0 && warmup >= steps {
        let reached = 100.0 * config.schedule.factor(steps, steps);
        lints.push(format!(
            "train.schedule.{name}: {warmup} steps of warm-up, and training has {steps} steps: the learning rate rises until its end, to {reached:.0} % of the full one; train.schedule.{name}.warmup_steps={}",
            steps.div_ceil(10)
        ));
    }
}

fn of_loss(config: &TrainConfig, loss: &LossConfig, key: &str, lints: &mut Vec<String>) {
    let cosine = config.similarity == SimilarityConfig::Cosine;
    let loss = &loss.suited(config.similarity);
    match loss {
        LossConfig::Mnrl(mnrl) if matches!(config.similarity, SimilarityConfig::Xtr(_)) && mnrl.scale() < 4.0 => {
            lints.push(format!(
                "{key}.mnrl.scale: scores of `xtr` are means of cosines, and multiplied by {} they hardly tell documents apart; {key}.mnrl.scale=20 does",
                mnrl.scale()
            ));
        }
        LossConfig::Mnrl(mnrl) if config.similarity == SimilarityConfig::Maxsim && mnrl.scale() > 4.0 => {
            lints.push(format!(
                "{key}.mnrl.scale: scores of `maxsim` are sums over the query's tokens, and multiplied by {} the nearest document takes it all; {key}.mnrl.scale=1 suits them",
                mnrl.scale()
            ));
        }
        LossConfig::Mnrl(mnrl) if config.similarity == SimilarityConfig::Dot && mnrl.scale() > 2.0 => lints.push(format!(
            "{key}.mnrl.scale: dot products are multiplied by {}, which suits cosines; {key}.mnrl.scale=1 suits dot products",
            mnrl.scale()
        )),
        LossConfig::Triplet(triplet) if triplet.distance != TripletDistance::Cosine => lints.push(format!(
            "{key}.triplet.distance: the model learns another distance than the cosine, by which benchmarks compare"
        )),
        LossConfig::DistillKl(kl) if cosine && kl.student_temperature.unwrap_or(kl.temperature) >= 0.5 => {
            lints.push(format!(
                "{key}.distill_kl.student_temperature: cosines differ by 2 at most, and divided by {} they cannot tell documents apart as a teacher does; 0.05 can",
                kl.student_temperature.unwrap_or(kl.temperature)
            ));
        }
        _ => {}
    }
}

fn texts(config: &TrainConfig, facts: &DataFacts, lints: &mut Vec<String>) {
    let needs = config.loss.needs();
    if facts.texts > 0 && !needs.texts {
        lints.push(format!(
            "train.loss: `{}` needs pairs, and {} of {} are texts without a label, which training will refuse",
            needs.loss, facts.texts, facts.pairs
        ));
    }
}

fn negatives(config: &TrainConfig, facts: &DataFacts, lints: &mut Vec<String>) {
    let (pairs, with, most) = (facts.pairs - facts.texts, facts.with_negatives, facts.most_negatives);
    let needs = config.loss.needs();
    if config.refresh.is_some() {
        // They are mined while training.
        return;
    }
    if needs.negatives && (with < pairs || config.negatives == 0) {
        let without = if config.negatives == 0 { pairs } else { pairs - with };
        lints.push(format!(
            "train.loss: `{}` needs a hard negative of every pair, and {without} of {pairs} pairs bring none to training, which will refuse them",
            needs.loss
        ));
        return;
    }
    // The default asks for what there is; any other number was asked for.
    let asked = config.negatives != TrainConfig::default().negatives;
    if config.negatives > most && asked {
        lints.push(format!(
            "train.negatives: {} are asked for, and no pair brings more than {most}; mine some, or train with train.negatives={most}",
            config.negatives
        ));
    } else if config.negatives > 0 && with > 0 && with < pairs {
        lints.push(format!(
            "train.negatives: {} of {pairs} pairs bring no hard negative; they train with those of their batch only",
            pairs - with
        ));
    }
    let (loss, key) = inner(&config.loss);
    let hard = matches!(loss, LossConfig::Mnrl(MnrlConfig { hardness: Some(Hardness::HardNegatives(_)), .. }));
    if hard && (with == 0 || config.negatives == 0) {
        lints.push(format!("{key}.mnrl.hardness: it touches hard negatives only, and no pair brings any to training"));
    }
}

fn scores(config: &TrainConfig, loss: &LossConfig, key: &str, facts: &DataFacts, lints: &mut Vec<String>) {
    let needs = config.loss.needs();
    if !needs.scores {
        return;
    }
    if facts.with_scores < facts.pairs {
        lints.push(format!(
            "train.loss: `{}` needs a score for every document, and {} of {} pairs lack some, which training will refuse",
            needs.loss,
            facts.pairs - facts.with_scores,
            facts.pairs
        ));
        return;
    }
    match (loss, facts.scores) {
        (LossConfig::MarginMse(_), _) if config.similarity == SimilarityConfig::Cosine && facts.widest_margin > 2.0 => {
            lints.push(format!(
                "train.similarity: cosines differ by 2 at most, and the scores that `{key}.margin_mse` follows differ by up to {}; train.similarity=dot can, or scores from 0 to 1",
                facts.widest_margin
            ));
        }
        // Who needs scores and no negatives learns from the order of pairs.
        (_, Some([low, high])) if !needs.negatives && low == high => lints.push(format!(
            "{key}.{}: it learns the order of scores, and every positive has the score {low}",
            needs.loss
        )),
        _ => {}
    }
}

fn duplicates(config: &TrainConfig, loss: &LossConfig, key: &str, facts: &DataFacts, lints: &mut Vec<String>) {
    let (name, masked) = match loss {
        LossConfig::Mnrl(mnrl) => ("mnrl", mnrl.mask_duplicates),
        LossConfig::Gist(gist) => ("gist", gist.mask_duplicates),
        _ => return,
    };
    if masked || config.batch.sampler != SamplerConfig::Shuffle || facts.alike == 0 {
        return;
    }
    let batch = config.batch.pairs.min(facts.pairs) as f64;
    let all = facts.pairs as f64;
    // Two given pairs share a batch with the probability (B − 1)/(P − 1), and a batch is one of P/B.
    let couples = facts.alike as f64 * (batch - 1.0).max(0.0) / (all - 1.0).max(1.0) * batch / all;
    lints.push(format!(
        "train.batch.sampler: {} couples of pairs have equal anchors or equal positives, so a batch of {} holds {couples:.2} of them in the mean, each a right answer taken for a wrong one; train.batch.sampler=no_duplicates or {key}.{name}.mask_duplicates=true",
        facts.alike, config.batch.pairs
    ));
}

fn dims(config: &TrainConfig, facts: &DataFacts, lints: &mut Vec<String>) {
    let (LossConfig::Matryoshka(matryoshka), Some(dim)) = (&config.loss, facts.dim) else { return };
    if let Some(longer) = matryoshka.dims.iter().find(|cut| **cut > dim) {
        lints.push(format!(
            "train.loss.matryoshka.dims: {longer} is longer than the model's embeddings, which have {dim} numbers; training will refuse it"
        ));
    } else if !matryoshka.dims.contains(&dim) {
        lints.push(format!(
            "train.loss.matryoshka.dims: {dim}, the whole length of the model's embeddings, is not among them and will not be trained"
        ));
    }
}

#[cfg(test)]
mod tests {
    use wb_core::PairSet;

    use super::*;

    fn facts(pairs: &[Pair], negatives: usize) -> DataFacts {
        DataFacts::of(&PairSet::new(pairs.to_vec()).unwrap(), negatives).unwrap()
    }

    fn pair(id: usize, anchor: &str, positive: &str, negatives: usize, scores: &[f32]) -> Pair {
        let negatives = vec!["n".into(); negatives];
        let (anchor, positive, scores) = (anchor.into(), positive.into(), scores.to_vec());
        Pair { id: id.to_string(), anchor, positive, negatives, scores, ..Pair::default() }
    }

    fn found(loss: &str, change: impl FnOnce(&mut TrainConfig), facts: Option<&DataFacts>) -> Vec<String> {
        let mut config = TrainConfig { loss: serde_json::from_str(loss).unwrap(), ..TrainConfig::default() };
        change(&mut config);
        config.validate("train").unwrap();
        lints(&config, facts)
    }

    #[test]
    fn facts_are_counted() {
        let pairs = [
            pair(0, "a", "p", 2, &[0.5, 0.25, -3.0]),
            pair(1, "a", "p", 0, &[1.0]),
            pair(2, "a", "q", 1, &[0.75]),
            pair(3, "b", "q", 3, &[]),
        ];
        let expected = DataFacts {
            pairs: 4,
            with_negatives: 3,
            most_negatives: 3,
            with_scores: 2,
            scores: Some([0.5, 1.0]),
            widest_margin: 3.5,
            texts: 0,
            // Three couples of anchors, two of positives, one of them both.
            alike: 4,
            dim: None,
            steps: None,
        };
        assert_eq!(facts(&pairs, 15), expected);
        let fewer = facts(&pairs, 0);
        assert_eq!((fewer.with_scores, fewer.widest_margin), (3, 0.0));
    }

    #[test]
    fn accumulation_is_no_bigger_batch() {
        let of = |loss| found(loss, |c| (c.batch.accumulate, c.batch.pairs) = (4, 16), None);
        let told = of(r#"{"mnrl": {}}"#);
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("train.batch.accumulate: 4 batches of 16 do not see"), "{told:?}");
        assert!(
            told[0].contains("train.batch.pairs=64 train.batch.accumulate=1 train.batch.micro_texts=32"),
            "{told:?}"
        );
        assert_eq!(of(r#"{"matryoshka": {"dims": [4]}}"#), told);
        // Without in-batch negatives nothing is lost.
        assert!(of(r#"{"triplet": {}}"#).is_empty());
        assert!(found("{\"mnrl\": {}}", |_| {}, None).is_empty());
    }

    #[test]
    fn warm_up_that_does_not_end() {
        let facts = DataFacts { steps: Some(4000), ..facts(&[], 15) };
        let of = |schedule: &str, most: u64, facts: Option<&DataFacts>| {
            let schedule = serde_json::from_str(schedule).unwrap();
            found(r#"{"mnrl": {}}"#, |c| (c.schedule, c.max_steps) = (schedule, most), facts).join("; ")
        };
        let steps = r#"{"linear": {"warmup_steps": 5000}}"#;
        assert_eq!(
            of(steps, 0, Some(&facts)),
            "train.schedule.linear: 5000 steps of warm-up, and training has 4000 steps: the learning rate rises until its end, to 80 % of the full one; train.schedule.linear.warmup_steps=400"
        );
        assert!(of(steps, 100, None).contains("training has 100 steps"));
        assert!(of(r#"{"constant": {"warmup": 1.0}}"#, 0, Some(&facts)).contains("to 100 %"));
        // How many steps there will be is not known, or they are enough.
        assert_eq!(of(steps, 0, None), "");
        assert_eq!(of(steps, 0, Some(&DataFacts { steps: Some(5001), ..facts.clone() })), "");
        assert_eq!(of(r#"{"cosine": {}}"#, 1, None), "");
    }

    #[test]
    fn negatives_and_scores_that_the_data_lacks() {
        let pairs = [pair(0, "a", "p", 2, &[1.0, 0.5, 0.1]), pair(1, "b", "q", 0, &[])];
        let (some, none) = (facts(&pairs, 15), facts(&[pair(0, "a", "p", 0, &[])], 15));
        let one = |loss, negatives, facts| {
            let mut told = found(loss, |c| c.negatives = negatives, Some(facts));
            assert!(told.len() < 2, "{told:?}");
            told.pop().unwrap_or_default()
        };
        let mnrl = r#"{"mnrl": {}}"#;
        assert!(one(mnrl, 7, &some).starts_with("train.negatives: 7 are asked for, and no pair brings more than 2;"));
        assert!(one(mnrl, 2, &some).starts_with("train.negatives: 1 of 2 pairs bring no hard negative;"));
        assert!(one(mnrl, 15, &some).starts_with("train.negatives: 1 of 2 pairs bring no hard negative;"));
        assert_eq!((one(mnrl, 15, &none), one(mnrl, 0, &some)), (String::new(), String::new()));
        let hard = r#"{"mnrl": {"hardness": {"hard_negatives": 5}}}"#;
        assert!(one(hard, 0, &some).starts_with("train.loss.mnrl.hardness: it touches hard negatives only"));
        let triplet = r#"{"triplet": {}}"#;
        assert!(one(triplet, 15, &some).contains("`triplet` needs a hard negative of every pair, and 1 of 2 pairs"));
        assert!(one(triplet, 0, &some).contains("and 2 of 2 pairs bring none"));
        assert!(one(r#"{"cosent": {}}"#, 0, &some).contains("`cosent` needs a score for every document, and 1 of 2"));
    }

    #[test]
    fn texts_without_labels_and_losses_that_need_pairs() {
        let facts = facts(&[pair(0, "a", "p", 0, &[]), pair(1, "b", "", 0, &[]), pair(2, "c", "", 0, &[])], 15);
        assert_eq!((facts.pairs, facts.texts, facts.alike), (3, 2, 0));
        let told = found(r#"{"mnrl": {}}"#, |_| {}, Some(&facts));
        let expected =
            "train.loss: `mnrl` needs pairs, and 2 of 3 are texts without a label, which training will refuse";
        assert_eq!(told, [expected]);
        assert!(found(r#"{"distill_embeddings": {"teacher": {"id": "x"}}}"#, |_| {}, Some(&facts)).is_empty());
    }

    #[test]
    fn scores_that_a_loss_cannot_follow() {
        let pairs = |score: f32| [pair(0, "a", "p", 1, &[score, 0.0]), pair(1, "b", "q", 1, &[score, 0.0])];
        let facts = |score| facts(&pairs(score), 15);
        let told = found(r#"{"margin_mse": {}}"#, |_| {}, Some(&facts(9.5)));
        assert!(told[0].starts_with("train.similarity: cosines differ by 2 at most, and the scores"), "{told:?}");
        assert!(found(r#"{"margin_mse": {}}"#, |_| {}, Some(&facts(0.5))).is_empty());
        assert!(found(r#"{"margin_mse": {}}"#, |c| c.similarity = SimilarityConfig::Dot, Some(&facts(9.5))).is_empty());
        let told = found(r#"{"cosent": {}}"#, |_| {}, Some(&facts(0.5)));
        assert!(told[0].starts_with("train.loss.cosent: it learns the order"), "{told:?}");
        let told = found(r#"{"distill_kl": {}}"#, |_| {}, Some(&facts(0.5)));
        assert!(told[0].starts_with("train.loss.distill_kl.student_temperature: cosines differ"), "{told:?}");
        assert!(found(r#"{"distill_kl": {"student_temperature": 0.05}}"#, |_| {}, Some(&facts(0.5))).is_empty());
    }

    #[test]
    fn duplicates_in_a_batch_and_values_that_do_not_fit_together() {
        let pairs: Vec<Pair> = (0..100).map(|i| pair(i, &format!("a{}", i % 50), &format!("p{i}"), 0, &[])).collect();
        let facts = DataFacts { dim: Some(384), ..facts(&pairs, 15) };
        let unmasked = r#"{"mnrl": {"mask_duplicates": false}}"#;
        let shuffle = |c: &mut TrainConfig| (c.batch.sampler, c.batch.pairs) = (SamplerConfig::Shuffle, 20);
        let told = found(unmasked, shuffle, Some(&facts));
        // 50 couples, 19/99 of them in one batch, 5 batches: 1.92.
        assert!(told[0].contains("50 couples of pairs") && told[0].contains("holds 1.92 of them"), "{told:?}");
        assert!(found(unmasked, |_| {}, Some(&facts)).is_empty());
        assert!(found(r#"{"mnrl": {}}"#, shuffle, Some(&facts)).is_empty());

        let told = found(r#"{"matryoshka": {"dims": [192]}}"#, |_| {}, Some(&facts));
        assert!(told[0].contains("384, the whole length"), "{told:?}");
        let told = found(r#"{"matryoshka": {"dims": [500]}}"#, |_| {}, Some(&facts));
        assert!(told[0].contains("500 is longer"), "{told:?}");
        assert!(found(r#"{"matryoshka": {"dims": [384, 192]}}"#, |_| {}, Some(&facts)).is_empty());
        let told = found(r#"{"mnrl": {}}"#, |c| c.similarity = SimilarityConfig::Dot, None);
        assert!(told[0].starts_with("train.loss.mnrl.scale: dot products are multiplied by 20"), "{told:?}");
        let xtr = |c: &mut TrainConfig| c.similarity = SimilarityConfig::Xtr(Default::default());
        let told = found(r#"{"mnrl": {}}"#, xtr, None);
        assert!(told[0].starts_with("train.loss.mnrl.scale: scores of `xtr` are means of cosines"), "{told:?}");
        assert!(found(r#"{"mnrl": {"scale": 20}}"#, xtr, None).is_empty());
        let maxsim = |c: &mut TrainConfig| c.similarity = SimilarityConfig::Maxsim;
        let told = found(r#"{"mnrl": {"temperature": 0.05}}"#, maxsim, None);
        assert!(told[0].starts_with("train.loss.mnrl.scale: scores of `maxsim` are sums"), "{told:?}");
        assert!(found(r#"{"mnrl": {}}"#, maxsim, None).is_empty());
        let told = found(r#"{"triplet": {"distance": "euclidean"}}"#, |_| {}, None);
        assert!(told[0].starts_with("train.loss.triplet.distance: the model learns"), "{told:?}");
    }
}
