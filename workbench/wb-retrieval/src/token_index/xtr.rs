//! XTR's retrieval: the tokens that were fetched are all there is to score documents by.

use std::{cmp::Reverse, collections::BTreeMap};

use ndarray::ArrayView2;
use rayon::prelude::*;
use wb_core::Hit;

use super::{TokenIndex, XtrSearch, codec::look_up};
use crate::top_k::{into_hits, keep_best, key, top_k};

impl TokenIndex {
    /// `scores` are those of centroids, `[query tokens, centroids]`.
    pub(super) fn xtr(
        &self,
        query: ArrayView2<'_, f32>,
        scores: ArrayView2<'_, f32>,
        k: usize,
        how: &XtrSearch,
    ) -> Vec<Hit> {
        let fetched: Vec<Vec<Hit>> = (0..query.nrows())
            .into_par_iter()
            .map(|at| {
                let row = scores.row(at).to_vec();
                let table = self.codec.table(query.row(at));
                self.fetch(&row, &table, how)
            })
            .collect();
        let mut hits = imputed(&fetched);
        hits.truncate(k);
        hits
    }

    /// The best document tokens of a query token: the document of each, and its score.
    fn fetch(&self, scores: &[f32], table: &[f32], how: &XtrSearch) -> Vec<Hit> {
        let full = how.tokens.saturating_mul(2).max(64);
        // Tokens are told apart by segment and position, which are looked up only for those that stay.
        let mut kept: Vec<(u64, Reverse<u32>)> = Vec::new();
        let mut least = u64::MIN;
        for probe in top_k(scores, how.probes) {
            for (number, segment) in self.segments.iter().enumerate() {
                for token in segment.tokens_at(probe.document) {
                    let product = probe.score + look_up(table, segment.residual_of(token));
                    let score = product * segment.scale_of(token);
                    let key = key(score, token as u32);
                    if key < least {
                        continue;
                    }
                    kept.push((key, Reverse(number as u32)));
                    if kept.len() == full {
                        keep_best(&mut kept, how.tokens);
                        least = kept.iter().map(|(key, _)| *key).min().unwrap_or(0);
                    }
                }
            }
        }
        keep_best(&mut kept, how.tokens);
        kept.sort_unstable_by(|a, b| b.cmp(a));
        let hit = |(key, Reverse(number)): (u64, Reverse<u32>)| {
            let (hit, segment) = (crate::top_k::hit(key), &self.segments[number as usize]);
            Hit { document: segment.first + segment.document_of(hit.document), score: hit.score }
        };
        kept.into_iter().map(hit).collect()
    }
}

/// Documents by what each query token has fetched, best first: the mean over query tokens of the document's best
/// score, or of that token's last score where it did not fetch the document (Lee et al. 2023, "Rethinking the Role of
/// Token Retrieval in Multi-Vector Retrieval", section 3.2). A query token that fetched nothing adds nothing.
pub fn imputed(fetched: &[Vec<Hit>]) -> Vec<Hit> {
    // The score of a document that nobody fetched, and what each one has above that.
    let mut base = 0f64;
    let mut above: BTreeMap<usize, f64> = BTreeMap::new();
    for hits in fetched {
        let Some(last) = hits.iter().map(|hit| hit.score).reduce(f32::min) else { continue };
        base += f64::from(last);
        let mut best: BTreeMap<usize, f32> = BTreeMap::new();
        for hit in hits {
            let score = best.entry(hit.document).or_insert(hit.score);
            *score = score.max(hit.score);
        }
        for (document, score) in best {
            *above.entry(document).or_insert(0.0) += f64::from(score) - f64::from(last);
        }
    }
    let n = fetched.len().max(1) as f64;
    let keys = above.into_iter().map(|(document, above)| key(((base + above) / n) as f32, document as u32));
    into_hits(keys.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(of: &[(usize, f32)]) -> Vec<Hit> {
        of.iter().map(|(document, score)| Hit { document: *document, score: *score }).collect()
    }

    #[test]
    fn missing_scores_are_the_last_fetched_by_hand() {
        // Three documents, two query tokens, k' = 3. The first token does not fetch document 2, the second not 0.
        let fetched = [hits(&[(0, 0.9), (1, 0.5), (0, 0.4)]), hits(&[(2, 0.8), (1, 0.7), (1, 0.2)])];
        // 0: (0.9 + 0.2) / 2; 1: (0.5 + 0.7) / 2; 2: (0.4 + 0.8) / 2, a tie with 1.
        let found = imputed(&fetched);
        let order: Vec<usize> = found.iter().map(|hit| hit.document).collect();
        assert_eq!(order, [1, 2, 0]);
        for (hit, expected) in found.iter().zip([0.6, 0.6, 0.55]) {
            assert!((hit.score - expected).abs() < 1e-6, "{found:?}");
        }
        // A token without any: its share is zero for all.
        let found = imputed(&[hits(&[(5, 0.5)]), Vec::new()]);
        assert_eq!(found, hits(&[(5, 0.25)]));
        assert!(imputed(&[]).is_empty());
    }
}
