//! Help that a device gives to exact search: the greatest inner product of a query with each group of documents.

use ndarray::{Array2, ArrayView2};

use crate::{Error, Result};

/// A device that multiplies vectors with vectors, faster than the processor and not as exactly.
///
/// A group whose greatest product, with the device's error, is below what a query has found already holds nothing for it;
/// of the others the processor computes the scores. So a search finds what it would find without the device.
pub trait GroupMaxima: Send {
    /// Takes documents, `[documents, dim]` of at least one, in place of those that it had. No vector is longer than 1.
    fn take(&mut self, documents: ArrayView2<'_, f32>) -> Result<()>;

    /// The greatest product of each query with a document of each group, `[queries, groups]`: group `g` is the documents
    /// from `g` · [`GROUP`] on. No query is longer than 1.
    fn maxima(&mut self, queries: ArrayView2<'_, f32>) -> Result<Array2<f32>>;

    /// True for an error of [`GroupMaxima::maxima`] after which fewer queries at once may fit into the device's memory.
    fn was_too_much(&self, error: &Error) -> bool;

    /// The greatest difference of a product from the exact one, for the documents that it has.
    fn error(&self) -> f32;
}

/// Documents in a group; the last one may have fewer.
pub const GROUP: usize = 32;
