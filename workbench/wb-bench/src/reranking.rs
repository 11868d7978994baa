//! A cross-encoder over a contestant's ranking: the first k documents by its scores, the rest below in their old order.
//!
//! Of each query's ranking the first k distinct texts, under the protocol's tie rule, are scored again. Documents of one
//! score of the cross-encoder are ties, which count as the protocol says; a document that is not among the k stays below
//! them all. A text that stands in the pool several times is one of the k, and so are all its copies. A contestant that
//! does not find a document (BM25: no word in common) has nothing to rerank there.
//!
//! sentence-transformers' `CrossEncoderRerankingEvaluator` (6.2) is the reference for the values over k documents. It
//! differs in what is ranked: it is given each query's documents, adds the positives that are not among them
//! (`always_rerank_positives`, on by default), and has nothing below; here an answer below k stays where it was. Its MRR
//! and nDCG end at `at_k`, its MRR puts equal scores in the order of a sort that promises none, and its nDCG takes the
//! mean over their orders, which stands here beside the value.

use std::collections::HashSet;

use wb_core::{Progress, Reranker, records::outcome::CONTESTANT_SETTING};
use wb_retrieval::TieRule;

use crate::{Error, Result};

/// A model that reads query and document together, and how many documents of each query it is given.
#[derive(Clone, Copy)]
pub struct Reranking<'a> {
    /// The model.
    pub reranker: &'a dyn Reranker,
    /// Number of each query's first documents that it orders.
    pub top: usize,
}

impl Reranking<'_> {
    /// The settings that name it in a record: name, number of documents, fingerprint.
    pub fn settings(&self) -> [(String, String); 3] {
        let setting = |name: &str, value: String| (format!("{CONTESTANT_SETTING}{name}"), value);
        [
            setting("reranker", self.reranker.name()),
            setting("reranked documents", self.top.to_string()),
            setting("reranker fingerprint", self.reranker.fingerprint().to_string()),
        ]
    }

    /// Scores each query's first documents; both by text.
    pub(crate) fn scores(
        &self,
        heads: &[(&str, Vec<&str>)],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Vec<f32>>> {
        let texts: Vec<(&str, &str)> =
            heads.iter().flat_map(|(query, documents)| documents.iter().map(|document| (*query, *document))).collect();
        let name = self.reranker.name();
        let scores = self
            .reranker
            .score(&texts, progress)
            .map_err(|source| Error::failed(format!("reranker {name} failed")).with_cause(source))?;
        if scores.len() != texts.len() {
            let message = format!("{} scores for {} pairs of texts, expected one each", scores.len(), texts.len());
            return Err(Error::data(format!("reranker {name}"), message));
        }
        if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
            let begin: String = texts[at].0.chars().take(60).collect();
            return Err(Error::data(format!("reranker {name}"), format!("a score of {begin:?} is not finite")));
        }
        let mut left = scores.as_slice();
        let of_queries = heads.iter().map(|(_, documents)| {
            let (own, rest) = left.split_at(documents.len());
            left = rest;
            own.to_vec()
        });
        Ok(of_queries.collect())
    }
}

/// The positions of the first `k` documents that are found, best first.
pub(crate) fn head<'i>(
    scores: &[f32],
    k: usize,
    rule: TieRule,
    floor: Option<f32>,
    id: impl Fn(usize) -> &'i str,
) -> Vec<usize> {
    let floor = floor.unwrap_or(f32::NEG_INFINITY);
    let hits = rule.top(scores, k, id);
    hits.into_iter().filter(|hit| hit.score > floor).map(|hit| hit.document).collect()
}

/// Scores whose order is that of the head by its new scores, above all others in their old order; ties stay ties, and
/// nothing becomes one.
///
/// Each document of the head gets a whole number above all old scores: b + the number of different new scores up to its
/// own, with b the greatest old score rounded up, 0 at least.
pub(crate) fn merged(old: &[f32], head: &[usize], new: &[f32]) -> Vec<f32> {
    let mut merged = old.to_vec();
    let mut levels: Vec<f32> = new.iter().map(|score| score + 0.0).collect();
    levels.sort_by(f32::total_cmp);
    levels.dedup();
    let of_head: HashSet<usize> = head.iter().copied().collect();
    let others = old.iter().enumerate().filter(|(position, score)| !of_head.contains(position) && !score.is_nan());
    let base = others.map(|(_, score)| *score).fold(0.0, f32::max).ceil();
    for (position, score) in head.iter().zip(new) {
        let level = levels.partition_point(|level| level < score);
        merged[*position] = base + (level + 1) as f32;
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn order(scores: &[f32]) -> Vec<usize> {
        TieRule::FirstPosition.top(scores, scores.len(), |at| IDS[at]).into_iter().map(|hit| hit.document).collect()
    }

    #[test]
    fn the_head_stands_above_the_old_tail() {
        let old = [0.9, 0.8, -0.7, 0.6, 0.6];
        let first = head(&old, 2, TieRule::FirstPosition, None, |at| IDS[at]);
        assert_eq!(first, [0, 1]);
        // Scores of a cross-encoder may be less than all that is below.
        let both = merged(&old, &first, &[-9.0, -8.0]);
        assert_eq!(order(&both), [1, 0, 3, 4, 2]);
        assert_eq!(both[2..], old[2..]);
        assert_eq!(merged(&old, &[], &[]), old);
    }

    #[test]
    fn ties_of_the_head_stay_ties_and_nothing_else_becomes_one() {
        let old = [20.5, 3.0, 2.0, 1.0, 1.0];
        let both = merged(&old, &[0, 1, 2], &[0.0, -0.0, 0.25]);
        assert_eq!(both[0], both[1]);
        assert_eq!(order(&both), [2, 0, 1, 3, 4]);
        assert_eq!((both[3], both[4]), (1.0, 1.0));
        let near = [1.0, 1.0 + f32::EPSILON];
        let both = merged(&[3.0, 2.0, 1e6], &[0, 1], &near);
        assert!(both[1] > both[0] && both[0] > 1e6, "{both:?}");
    }

    #[test]
    fn ties_at_the_cut_follow_the_rule_and_what_is_not_found_is_not_reranked() {
        let old = [1.0, 2.0, 1.0, 1.0, 0.0];
        let first = |rule, k| head(&old, k, rule, Some(0.0), |at| IDS[at]);
        assert_eq!(first(TieRule::FirstPosition, 2), [1, 0]);
        assert_eq!(first(TieRule::LastPosition, 2), [1, 3]);
        assert_eq!(first(TieRule::TrecEval, 3), [1, 3, 2]);
        assert_eq!(first(TieRule::FirstPosition, 5), [1, 0, 2, 3]);
    }
}
