//! Sources of candidates: the best of them for each query, and the scores of the positives.

use std::ops::Range;

use super::{MiningTexts, NegativeCandidate};
use crate::{Result, top_k::hit};

/// Queries that are ranked together.
#[derive(Clone)]
pub struct Batch<'t, 'a> {
    /// All texts.
    pub texts: &'t MiningTexts<'a>,
    /// Positions of the queries.
    pub queries: Range<usize>,
    /// Number of documents that are asked for; fewer are given where there are fewer.
    pub depth: usize,
}

/// Is told how many documents were looked at, and may break off.
pub type Seen<'s> = &'s mut dyn FnMut(usize) -> Result<()>;

/// Something that ranks the documents of [`MiningTexts`] for its queries.
pub trait CandidateSource {
    /// Number of queries that are ranked together, by the memory that they take.
    fn at_once(&self) -> usize;

    /// The rankings of a batch, one for each query in order.
    fn rank(&mut self, batch: Batch<'_, '_>, seen: Seen<'_>) -> Result<Vec<RankedQuery>>;
}

/// The best documents of one query, and the scores of its positives wherever they stand.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedQuery {
    /// Keys of [`crate::top_k`], in no order.
    pub(super) keys: Vec<u64>,
    /// One a positive, in the order of [`MiningTexts::positives`].
    pub(super) positives: Vec<f32>,
}

impl RankedQuery {
    /// Nothing yet.
    pub(super) fn new(n_positives: usize) -> Self {
        Self { keys: Vec::new(), positives: vec![f32::NAN; n_positives] }
    }

    /// A ranking out of documents with their scores, in any order, and the scores of the positives.
    pub fn from_scores(hits: impl IntoIterator<Item = (u32, f32)>, positives: Vec<f32>) -> Self {
        let keys = hits.into_iter().map(|(document, score)| crate::top_k::key(score, document)).collect();
        Self { keys, positives }
    }

    /// The candidates, best first; equal scores by position, lower first.
    pub fn candidates(&self) -> Vec<NegativeCandidate> {
        let mut keys = self.keys.clone();
        keys.sort_unstable_by(|a, b| b.cmp(a));
        let numbered = keys.into_iter().zip(1u32..);
        numbered
            .map(|(key, rank)| {
                let hit = hit(key);
                NegativeCandidate { document: hit.document as u32, score: hit.score, rank }
            })
            .collect()
    }
}
