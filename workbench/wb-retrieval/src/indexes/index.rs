//! Embeddings to hits.

use ndarray::Array2;
use wb_core::{Embeddings, Ranking};

use crate::Result;

/// Document vectors that can be searched with query vectors by inner product (cosine, where both are normalized).
pub trait Index {
    /// How many documents.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers in a vector.
    fn dim(&self) -> usize;

    /// The best `k` documents for each query, best first; fewer where there are fewer documents.
    /// Equal scores are ordered by position, lower first.
    fn search(&self, queries: &Embeddings, k: usize) -> Result<Vec<Ranking>>;

    /// The score of every document for every query, `[queries, documents]`; the same numbers as in [`Index::search`].
    fn scores(&self, queries: &Embeddings) -> Result<Array2<f32>>;
}
