//! Estimates of how many mined negatives are answers after all, on a sample, by scorers that did not mine them.
//!
//! Nobody judged these documents, so there is no true count. What can be counted is how often a scorer of another kind
//! puts a negative above the pair's own positive, or how often it is nearly the positive's text; and the same for
//! documents drawn at random, which are hardly ever answers: what is above that share is suspicious.

use rand::RngExt;
use serde::{Deserialize, Serialize};
use wb_core::{
    Encoder, Seed, Side,
    progress::silent,
    statistics::{Interval, wilson},
};

use super::{MinedNegatives, MiningTexts};
use crate::{Bm25Config, Error, Result, Retriever, dense::encode, maxsim::max_sim};

/// A share of a sample, with Wilson's interval (E. Wilson, 1927) for the share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HitShare {
    /// Number of those that have it.
    pub hits: u64,
    /// Number in all.
    pub of: u64,
}

impl HitShare {
    /// The share; 0 of none.
    pub fn value(self) -> f64 {
        self.hits as f64 / (self.of as f64).max(1.0)
    }

    /// The 95 % interval; of none, everything is possible.
    pub fn interval(self) -> [f64; 2] {
        const Z: f64 = 1.959_963_984_540_054;
        let Interval { low, high } = wilson(self.hits as usize, self.of as usize, Z);
        [low, high]
    }
}

/// One pair of the sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    /// Position of the pair.
    pub pair: usize,
    /// One of its negatives, each as likely as another.
    pub negative: u32,
    /// Any document that is not one of its positives.
    pub random: u32,
}

/// One negative and one random document for each of up to `n` pairs, drawn by the seed. One a pair, so that what is
/// counted is not counted several times for one query.
pub fn sample(texts: &MiningTexts<'_>, mined: &MinedNegatives, n: usize, seed: Seed) -> Vec<Sampled> {
    let with: Vec<usize> = (0..mined.pairs.len()).filter(|pair| !mined.pairs[*pair].negatives.is_empty()).collect();
    let n_documents = texts.documents().len() as u32;
    let order = seed.permutation_at("estimated negatives", 0, with.len());
    let mut rng = seed.stream("estimated negatives");
    let mut sampled = Vec::new();
    for pair in order.into_iter().take(n).map(|at| with[at]) {
        let negatives = &mined.pairs[pair].negatives;
        let negative = negatives[rng.random_range(0..negatives.len())].document;
        let never = texts.never(texts.query_of(pair));
        // A pair with a negative has a document that may be drawn, so this ends; the limit is for positives that stay.
        let drawn = (0..1000).map(|_| rng.random_range(0..n_documents)).find(|at| never.binary_search(at).is_err());
        if let Some(random) = drawn {
            sampled.push(Sampled { pair, negative, random });
        }
    }
    sampled
}

/// Shares that a scorer found in the sample, of mined negatives and of random documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JudgedSample {
    /// Share of the mined negatives.
    pub mined: HitShare,
    /// Share of documents drawn at random.
    pub random: HitShare,
}

/// Counts those that score above their pair's positive, by a function of query and documents that gives a score for
/// each.
pub fn above_positive(
    texts: &MiningTexts<'_>,
    sample: &[Sampled],
    mut scores: impl FnMut(usize, [u32; 3]) -> [f32; 3],
) -> JudgedSample {
    count(sample, |sampled| {
        let positive = texts.positive_of(sampled.pair);
        let [positive, negative, random] = scores(sampled.pair, [positive, sampled.negative, sampled.random]);
        [negative > positive, random > positive]
    })
}

/// Counts those of which `is` is true, asked about a positive and a document.
pub fn judge(texts: &MiningTexts<'_>, sample: &[Sampled], mut is: impl FnMut(u32, u32) -> bool) -> JudgedSample {
    count(sample, |sampled| {
        let positive = texts.positive_of(sampled.pair);
        [is(positive, sampled.negative), is(positive, sampled.random)]
    })
}

fn count(sample: &[Sampled], mut hits: impl FnMut(&Sampled) -> [bool; 2]) -> JudgedSample {
    let of = sample.len() as u64;
    let mut judged = JudgedSample { mined: HitShare { hits: 0, of }, random: HitShare { hits: 0, of } };
    for sampled in sample {
        let [mined, random] = hits(sampled);
        judged.mined.hits += u64::from(mined);
        judged.random.hits += u64::from(random);
    }
    judged
}

/// The sample's documents, each once, ascending.
fn documents_of(texts: &MiningTexts<'_>, sample: &[Sampled]) -> Vec<u32> {
    let mut documents: Vec<u32> =
        sample.iter().flat_map(|s| [texts.positive_of(s.pair), s.negative, s.random]).collect();
    documents.sort_unstable();
    documents.dedup();
    documents
}

/// [`above_positive`] by BM25, whose word counts are those of the sample's documents.
pub fn above_positive_by_words(texts: &MiningTexts<'_>, sample: &[Sampled], bm25: Bm25Config) -> Result<JudgedSample> {
    let documents = documents_of(texts, sample);
    let of_documents: Vec<&str> = documents.iter().map(|at| texts.documents()[*at as usize]).collect();
    let index = bm25.init(&of_documents, &mut silent)?;
    let mut rows = Vec::with_capacity(sample.len());
    for part in sample.chunks(256) {
        let queries: Vec<&str> = part.iter().map(|sampled| texts.queries()[texts.query_of(sampled.pair)]).collect();
        let scores = index.scores(&queries, &mut silent)?;
        let place = |document: u32| documents.binary_search(&document).unwrap_or_default();
        for (row, sampled) in scores.rows().into_iter().zip(part) {
            let wanted = [texts.positive_of(sampled.pair), sampled.negative, sampled.random];
            rows.push(wanted.map(|document| row[place(document)]));
        }
    }
    let mut rows = rows.into_iter();
    Ok(above_positive(texts, sample, |_, _| rows.next().unwrap_or_default()))
}

/// [`above_positive`] by the cosines of an encoder, or by MaxSim of one that gives one vector a token.
pub fn above_positive_by_vectors(
    texts: &MiningTexts<'_>,
    sample: &[Sampled],
    encoder: &dyn Encoder,
    progress: &mut dyn FnMut(wb_core::Progress),
) -> Result<JudgedSample> {
    let documents = documents_of(texts, sample);
    let of_documents: Vec<&str> = documents.iter().map(|at| texts.documents()[*at as usize]).collect();
    let of_queries: Vec<&str> = sample.iter().map(|s| texts.queries()[texts.query_of(s.pair)]).collect();
    let mut vectors_of = |texts: &[&str], side: Side| {
        let vectors = encode(encoder, texts, side, progress)?;
        // Tokens are compared as the encoder makes them.
        Ok::<_, Error>(if vectors.offsets().is_some() { vectors } else { vectors.normalized() })
    };
    let queries = vectors_of(&of_queries, Side::Query)?;
    let vectors = vectors_of(&of_documents, Side::Document)?;
    let mut row = 0;
    let mut failed = None;
    let judged = above_positive(texts, sample, |_, wanted| {
        let places = wanted.map(|document| documents.binary_search(&document).unwrap_or_default());
        let scores = max_sim(&queries.part(row..row + 1), &vectors.select(places));
        row += 1;
        let mut found = wanted.map(|_| f32::NAN);
        match scores {
            Ok(scores) => found.iter_mut().zip(&scores).for_each(|(to, score)| *to = *score),
            Err(error) => failed = Some(error),
        }
        found
    });
    failed.map_or(Ok(judged), Err)
}

#[cfg(test)]
mod tests {
    use wb_core::Pair;

    use super::*;
    use crate::{
        dense::tests::LETTERS,
        mining::{MiningConfig, Negative, mine},
    };

    #[test]
    fn wilson_by_hand() {
        // p = 0.1, n = 100: (0.1 + 0.019207) / 1.038415 ± 1.96 / 1.038415 · √(0.0009 + 0.000096)
        let [low, high] = HitShare { hits: 10, of: 100 }.interval();
        assert!((low - 0.055_229).abs() < 1e-5 && (high - 0.174_366).abs() < 1e-5, "{low} {high}");
        let [low, high] = HitShare { hits: 0, of: 50 }.interval();
        assert!(low == 0.0 && (high - 0.071_35).abs() < 1e-4, "{low} {high}");
        let all = HitShare { hits: 50, of: 50 };
        assert!((all.interval()[0] - 0.928_65).abs() < 1e-4 && all.interval()[1] == 1.0);
        assert_eq!(HitShare::default().interval(), [0.0, 1.0]);
        assert_eq!(HitShare::default().value(), 0.0);
    }

    #[test]
    fn false_negatives_that_were_put_in_are_counted() {
        // Every anchor has its word four times in its positive; a twin of the positive has it eight times.
        let word = |at: usize| format!("w{}", "abcdefghij".chars().nth(at).unwrap()).repeat(2);
        let mut pairs = Vec::new();
        for at in 0..10 {
            let word = word(at);
            let pair = |id: String, anchor: String, positive: String| Pair { id, anchor, positive, ..Pair::default() };
            pairs.push(pair(format!("p{at}"), word.clone(), format!("{} end {at}", [word.as_str(); 4].join(" "))));
            pairs.push(pair(
                format!("t{at}"),
                format!("other {at}"),
                format!("{} fin {at}", [word.as_str(); 8].join(" ")),
            ));
        }
        let found = mine(&pairs, &[], &LETTERS, &MiningConfig::default(), (Seed(1), 0), None, &mut silent).unwrap();
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let mut mined = found.mined;
        for at in 0..10 {
            let twin = Negative { document: 2 * at as u32 + 1, score: None, rank: None };
            mined.pairs[2 * at].negatives = vec![twin];
            mined.pairs[2 * at + 1].negatives.clear();
        }
        let sample = sample(&texts, &mined, 100, Seed(3));
        assert_eq!(sample.len(), 10, "pairs without negatives are none of the sample");
        let judged = above_positive_by_words(&texts, &sample, Bm25Config::default()).unwrap();
        assert_eq!(judged.mined, HitShare { hits: 10, of: 10 });
        assert!(judged.random.hits <= 2, "{judged:?}");
        let same = judge(&texts, &sample, |positive, document| document == positive + 1);
        assert_eq!(same.mined.hits, 10);
        let by_vectors = above_positive_by_vectors(&texts, &sample, &LETTERS, &mut silent).unwrap();
        assert_eq!(by_vectors.mined.of, 10);
        assert!(by_vectors.mined.hits >= by_vectors.random.hits);
    }
}
