//! A compressed index of token vectors for late interaction: centroids and residuals of a few bits.
//!
//! As in ColBERTv2 and PLAID (Santhanam et al. 2022) a token is the number of its nearest centroid and a coarse code of
//! the difference; with 2 bits and 128 dimensions that is 39 bytes a token instead of 512. Token vectors have
//! length 1, and so has a decompressed one, within a scale's 8 bits. Documents are added in
//! segments, so an index can grow, and building needs memory for one segment at a time. Files are mapped, checked
//! against their hashes when they are opened, and appear whole or not at all.
//!
//! Two ways to search it: [`TokenIndexSearch::Xtr`] fetches tokens and fills in what it did not fetch,
//! [`TokenIndexSearch::Plaid`] narrows down to candidates and computes their MaxSim from decompressed vectors.

mod build;
mod centroids;
mod codec;
mod config;
mod layout;
mod plaid;
mod segment;
mod xtr;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::Path};

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use wb_core::{Embeddings, Error, Hit, Progress, Ranking, Seed};

use crate::{Result, error::unlike_lengths, inner_product::inner_products, maxsim::check};
use centroids::Centroids;
use codec::Codec;
use layout::{CENTROIDS, Layout};
use segment::Segment;

pub use build::{TokenIndexBuilder, TokenIndexPlan};
pub use config::{PlaidSearch, TokenIndexConfig, TokenIndexSearch, XtrSearch};
pub use xtr::imputed;

/// A compressed index, open for searching.
pub struct TokenIndex {
    layout: Layout,
    centroids: Centroids,
    codec: Codec,
    segments: Vec<Segment>,
    /// Documents of all segments.
    documents: usize,
}

impl TokenIndex {
    /// Opens an index that a [`TokenIndexBuilder`] has left. Lengths and hashes of all its files are compared first.
    pub fn open(folder: &Path) -> Result<Self> {
        let layout = Layout::read(folder)?;
        let (centroids, codec) = open_centroids(folder, &layout)?;
        let mut documents = 0;
        let mut segments = Vec::with_capacity(layout.segments.len());
        for entry in &layout.segments {
            segments.push(Segment::open(folder, &layout, entry, documents)?);
            documents += entry.documents;
        }
        Ok(Self { layout, centroids, codec, segments, documents })
    }

    /// Number of documents in the index.
    pub fn len(&self) -> usize {
        self.documents
    }

    /// True where it holds none.
    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// Length of a token vector.
    pub fn dim(&self) -> usize {
        self.layout.dim
    }

    /// Number of token vectors in the index.
    pub fn tokens(&self) -> usize {
        self.layout.segments.iter().map(|segment| segment.tokens).sum()
    }

    /// Number of centroids.
    pub fn centroids(&self) -> usize {
        self.centroids.len()
    }

    /// Bytes on the disk, centroids included.
    pub fn bytes(&self) -> u64 {
        self.layout.centroids_file.bytes + self.layout.segments.iter().map(|segment| segment.file.bytes).sum::<u64>()
    }

    /// Names and fingerprints of what made its vectors.
    pub fn made_with(&self) -> &BTreeMap<String, String> {
        &self.layout.made_with
    }

    /// The best `k` documents for each query, best first, ties by position; `rankings[i].query` is `i`.
    ///
    /// A score is MaxSim's sum over the query's tokens, or XTR's mean. A query without tokens finds
    /// nothing. Queries are searched side by side, each by one thread, with the same result for any number of threads.
    pub fn search(
        &self,
        queries: &Embeddings,
        k: usize,
        how: &TokenIndexSearch,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Ranking>> {
        if queries.dim() != self.dim() {
            let given = queries.dim();
            return Err(unlike_lengths("dimensions of queries and index", given, self.dim()));
        }
        check("query", queries.view())?;
        let mut rankings = Vec::with_capacity(queries.texts());
        let at_once = 4 * rayon::current_num_threads();
        for first in (0..queries.texts()).step_by(at_once) {
            progress(Progress::new("searching", first, queries.texts()));
            let block = first..(first + at_once).min(queries.texts());
            let found: Vec<Vec<Hit>> =
                block.clone().into_par_iter().map(|at| self.search_one(queries.of(at), k, how)).collect();
            rankings.extend(block.zip(found).map(|(query, hits)| Ranking { query, hits }));
        }
        progress(Progress::new("searching", queries.texts(), queries.texts()));
        Ok(rankings)
    }

    fn search_one(&self, query: ArrayView2<'_, f32>, k: usize, how: &TokenIndexSearch) -> Vec<Hit> {
        if query.nrows() == 0 || k == 0 {
            return Vec::new();
        }
        let scores = inner_products(query, self.centroids.view());
        match how {
            TokenIndexSearch::Xtr(how) => self.xtr(query, scores.view(), k, how),
            TokenIndexSearch::Plaid(how) => self.plaid(query, scores.view(), k, how),
        }
    }

    /// The vectors of a document as the index has them, `[tokens, dim]`, in the order of its tokens.
    pub fn decompressed(&self, document: usize) -> Array2<f32> {
        let (segment, within) = self.segment_of(document);
        let tokens = segment.tokens_of(within);
        let mut out = Array2::zeros((tokens.len(), self.dim()));
        for (mut row, token) in out.rows_mut().into_iter().zip(tokens) {
            row.assign(&self.centroids.view().row(segment.centroid_of(token)));
            if let Some(row) = row.as_slice_mut() {
                self.codec.add_to(segment.residual_of(token), row);
                let scale = segment.scale_of(token);
                row.iter_mut().for_each(|x| *x *= scale);
            }
        }
        out
    }

    /// The segment with a document, and its position there.
    fn segment_of(&self, document: usize) -> (&Segment, usize) {
        let at = self.segments.partition_point(|segment| segment.first <= document) - 1;
        (&self.segments[at], document - self.segments[at].first)
    }
}

fn open_centroids(folder: &Path, layout: &Layout) -> Result<(Centroids, Codec)> {
    let bytes = segment::mapped(folder, CENTROIDS, &layout.centroids_file)?;
    let numbers = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let place = || folder.join(layout::INDEX).display().to_string();
    let vectors = Array2::from_shape_vec((layout.centroids, layout.dim), numbers)
        .map_err(|error| Error::data(place(), error.to_string()))?;
    let codec =
        layout.codec().ok_or_else(|| Error::data(place(), "the number of buckets does not fit the bits".to_owned()))?;
    Ok((Centroids::from_vectors(vectors, Seed(layout.seed)), codec))
}

/// Share of the best `k` of exact rankings that was found: the mean over queries.
pub fn recall(found: &[Ranking], exact: &[Ranking], k: usize) -> f64 {
    let of = |(found, exact): (&Ranking, &Ranking)| {
        let wanted: Vec<usize> = exact.hits.iter().take(k).map(|hit| hit.document).collect();
        let hits = found.hits.iter().take(k).filter(|hit| wanted.contains(&hit.document)).count();
        if wanted.is_empty() { 1.0 } else { hits as f64 / wanted.len() as f64 }
    };
    let shares: Vec<f64> = found.iter().zip(exact).map(of).collect();
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}
