//! PLAID's retrieval: documents of the nearest centroids, ranked by their centroids, the best by MaxSim.

use ndarray::ArrayView2;
use rayon::prelude::*;
use wb_core::Hit;

use super::{PlaidSearch, TokenIndex};
use crate::{
    inner_product::inner_products,
    top_k::{hit, into_hits, keep_best, key, top_k},
};

impl TokenIndex {
    /// `scores` are those of centroids, `[query tokens, centroids]`.
    pub(super) fn plaid(
        &self,
        query: ArrayView2<'_, f32>,
        scores: ArrayView2<'_, f32>,
        k: usize,
        how: &PlaidSearch,
    ) -> Vec<Hit> {
        let documents = self.documents_near(scores, how.probes);
        // A centroid's scores for all query tokens side by side.
        let by_centroid = scores.t().as_standard_layout().into_owned();
        let mut candidates: Vec<u64> = documents
            .par_iter()
            .map(|document| key(self.by_centroids(by_centroid.view(), *document as usize), *document))
            .collect();
        keep_best(&mut candidates, how.candidates.max(k));
        let mut keys: Vec<u64> = candidates
            .par_iter()
            .map(|candidate| {
                let document = hit(*candidate).document;
                key(max_sim(query, self.decompressed(document).view()), document as u32)
            })
            .collect();
        keep_best(&mut keys, k);
        into_hits(keys)
    }

    /// All documents with a token at one of the nearest centroids of some query token, ascending.
    fn documents_near(&self, scores: ArrayView2<'_, f32>, probes: usize) -> Vec<u32> {
        let mut near = vec![false; self.centroids.len()];
        for row in scores.rows() {
            for probe in top_k(&row.to_vec(), probes) {
                near[probe.document] = true;
            }
        }
        let near: Vec<usize> = (0..near.len()).filter(|at| near[*at]).collect();
        let of_segment = |segment: &super::Segment| {
            let mut seen = vec![false; segment.documents()];
            for centroid in &near {
                // Tokens ascend, so many in a row are of one document.
                let mut last = 0..0;
                for token in segment.tokens_at(*centroid) {
                    if !last.contains(&token) {
                        let document = segment.document_of(token);
                        last = segment.tokens_of(document);
                        seen[document] = true;
                    }
                }
            }
            (0..seen.len()).filter(|at| seen[*at]).map(|at| (segment.first + at) as u32).collect::<Vec<_>>()
        };
        self.segments.par_iter().flat_map_iter(of_segment).collect()
    }

    /// MaxSim of centroids instead of tokens.
    fn by_centroids(&self, scores: ArrayView2<'_, f32>, document: usize) -> f32 {
        let (segment, within) = self.segment_of(document);
        let mut best = vec![f32::NEG_INFINITY; scores.ncols()];
        for token in segment.tokens_of(within) {
            let row = scores.row(segment.centroid_of(token));
            best.iter_mut().zip(row).for_each(|(best, score)| *best = best.max(*score));
        }
        best.iter().sum::<f32>()
    }
}

/// The sum over query tokens of the best inner product with a document token.
fn max_sim(query: ArrayView2<'_, f32>, document: ArrayView2<'_, f32>) -> f32 {
    let scores = inner_products(query, document);
    let best = scores.rows().into_iter().map(|row| row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    best.sum::<f32>()
}
