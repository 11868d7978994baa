//! `pairs-full` and `pairs-1000`: any held-out pairs as a search task, anchor to positive.
//!
//! `pairs-full`: every anchor searches the positives of all pairs. `pairs-1000`: the pairs are put into numpy's legacy
//! order for the seed, cut into chunks of 1,000, the last partial chunk dropped as [`csn-1000`](super::csn_1000)
//! does, and every anchor searches its chunk; with fewer than 1,000 pairs there is one chunk of all of them, and the
//! pool says so. Unlike csn-1000 it is the anchor that searches.
//!
//! These numbers decide verdicts, so ties count against the answer: an encoder that gives all texts one vector gets
//! the last rank everywhere. MRR, Recall@{1,5,10}, nDCG@10.

use wb_core::Pair;

use super::ranked::{PoolQuery, QueryPool, RankedProtocol, TieTreatment, usual_metrics};
use crate::{numpy_random::NumpyRandom, texts::BenchmarkTexts};

/// Pairs of a chunk.
pub const CHUNK: usize = 1000;

/// Every anchor over all positives.
pub fn pairs_full(texts: &mut BenchmarkTexts, pairs: &[&Pair], language: &str, split: &str) -> RankedProtocol {
    let description = "each held-out anchor searches the code of all held-out pairs; a tie counts against the answer";
    RankedProtocol::new(
        ("pairs-full", description),
        language,
        split,
        vec![part(texts, pairs)],
        TieTreatment::Worst,
        usual_metrics(),
    )
}

/// Every anchor over the positives of its chunk.
pub fn pairs_1000(
    texts: &mut BenchmarkTexts,
    pairs: &[&Pair],
    language: &str,
    split: &str,
    seed: u32,
) -> RankedProtocol {
    let mut order = pairs.to_vec();
    NumpyRandom::seed(seed).shuffle(&mut order);
    let chunk = CHUNK.min(order.len()).max(1);
    let description = "as pairs-full, in pools cut from a fixed shuffle, a last partial pool left out; a tie counts \
                       against the answer";
    let parts = order.chunks_exact(chunk).map(|pairs| part(texts, pairs)).collect();
    RankedProtocol::new(("pairs-1000", description), language, split, parts, TieTreatment::Worst, usual_metrics())
}

fn part(texts: &mut BenchmarkTexts, pairs: &[&Pair]) -> QueryPool {
    let mut part = QueryPool::default();
    for (position, pair) in pairs.iter().enumerate() {
        part.ids.push(pair.id.clone());
        part.texts.push(texts.documents.number(&pair.positive));
        part.queries.push(PoolQuery {
            id: pair.id.clone(),
            text: texts.queries.number(&pair.anchor),
            relevant: vec![(position, 1.0)],
            missing: Vec::new(),
        });
    }
    part
}
