//! Equal scores: in which order reference implementations put them, and what ranks they leave possible.

use serde::{Deserialize, Serialize};
use wb_core::Hit;

use crate::{judged::count, top_k::top_k};

/// The order of two documents with one score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TieRule {
    /// The lower position in the corpus, as this crate's indexes order.
    #[default]
    FirstPosition,
    /// The higher position in the corpus: an ascending sort read backwards, as in CodeBERT's and UniXcoder's scripts
    /// (whose sort is not stable, so they do not promise it).
    LastPosition,
    /// The greater id, byte by byte: trec_eval, pytrec_eval, BEIR, MTEB, CoIR.
    TrecEval,
    /// The lesser id: sentence-transformers' information retrieval evaluator.
    SentenceTransformers,
}

impl TieRule {
    /// The order of two documents `a` and `b` of one score; each is a position and an id.
    fn before(self, a: (usize, &str), b: (usize, &str)) -> std::cmp::Ordering {
        match self {
            Self::FirstPosition => a.0.cmp(&b.0),
            Self::LastPosition => b.0.cmp(&a.0),
            Self::TrecEval => b.1.cmp(a.1).then(a.0.cmp(&b.0)),
            Self::SentenceTransformers => a.1.cmp(b.1).then(a.0.cmp(&b.0)),
        }
    }

    /// Orders hits: score descending, then by this rule. What a search already cut off does not come back: where ties
    /// at the cut matter, order all scores with [`TieRule::top`].
    pub fn sort<'a>(self, hits: &mut [Hit], id: impl Fn(usize) -> &'a str) {
        hits.sort_by(|a, b| {
            let score = |hit: &Hit| if hit.score.is_nan() { f32::NEG_INFINITY } else { hit.score + 0.0 };
            let ids = || self.before((a.document, id(a.document)), (b.document, id(b.document)));
            score(b).total_cmp(&score(a)).then_with(ids)
        });
    }

    /// The best `k` of a whole pool under this rule, ties at the cut included.
    pub fn top<'a>(self, scores: &[f32], k: usize, id: impl Fn(usize) -> &'a str) -> Vec<Hit> {
        let mut hits = top_k(scores, k);
        if let Some(last) = hits.last().map(|hit| hit.score)
            && self != Self::FirstPosition
        {
            // Everything as good as the last hit may belong before it.
            hits.retain(|hit| hit.score > last);
            let equal = |(_, score): &(usize, &f32)| **score == last || (score.is_nan() && last == f32::NEG_INFINITY);
            hits.extend(scores.iter().enumerate().filter(equal).map(|(document, _)| Hit { document, score: last }));
            self.sort(&mut hits, id);
            hits.truncate(k);
        }
        hits
    }

    /// The rank of a document in a whole pool under this rule, from 1.
    pub fn rank_of<'a>(self, scores: &[f32], document: usize, id: impl Fn(usize) -> &'a str) -> usize {
        let rank = rank_of(scores, document);
        if rank.best == rank.worst {
            return rank.best;
        }
        let own = scores[document];
        let this = (document, id(document));
        let equal = |score: f32| score == own || (score.is_nan() && (own.is_nan() || own == f32::NEG_INFINITY));
        let before = |(position, score): &(usize, &f32)| {
            *position != document && equal(**score) && self.before((*position, id(*position)), this).is_lt()
        };
        rank.best + scores.iter().enumerate().filter(before).count()
    }
}

/// The ranks that a document can have, depending on the order of equal scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// 1 + the documents with strictly greater scores.
    pub best: usize,
    /// The documents with a score as great or greater, itself included.
    pub worst: usize,
}

/// The ranks that a document can have in a pool. A score that is not a number counts as negative infinity.
pub fn rank_of(scores: &[f32], document: usize) -> Rank {
    let own = if scores[document].is_nan() { f32::NEG_INFINITY } else { scores[document] };
    let (greater, equal) = count(scores, own);
    Rank { best: greater + 1, worst: greater + equal }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 5] = ["b", "d", "a", "c", "e"];

    fn order(rule: TieRule, k: usize) -> String {
        rule.top(&[1.0, 1.0, 2.0, 1.0, 0.5], k, |position| IDS[position]).iter().map(|hit| IDS[hit.document]).collect()
    }

    #[test]
    fn each_rule_orders_its_way_also_at_the_cut() {
        for (rule, expected) in [
            (TieRule::FirstPosition, "abdce"),
            (TieRule::LastPosition, "acdbe"),
            (TieRule::TrecEval, "adcbe"),
            (TieRule::SentenceTransformers, "abcde"),
        ] {
            for k in 0..=5 {
                assert_eq!(order(rule, k), expected[..k], "{rule:?} {k}");
            }
            for (position, id) in IDS.iter().enumerate() {
                let rank = rule.rank_of(&[1.0, 1.0, 2.0, 1.0, 0.5], position, |position| IDS[position]);
                assert_eq!(rank, expected.find(id).unwrap() + 1, "{rule:?} {id}");
            }
        }
    }

    #[test]
    fn ranks_of_ties() {
        let scores = [0.5, 0.9, 0.5, 0.5, 0.1];
        let rank = rank_of(&scores, 2);
        assert_eq!((rank.best, rank.worst), (2, 4));
        let alone = rank_of(&scores, 1);
        assert_eq!((alone.best, alone.worst), (1, 1));
        let lost = rank_of(&[f32::NAN, 1.0, f32::NAN], 0);
        assert_eq!((lost.best, lost.worst), (2, 3));
        assert_eq!(TieRule::LastPosition.rank_of(&[f32::NAN, 1.0, f32::NAN], 0, |_| ""), 3);
    }
}
