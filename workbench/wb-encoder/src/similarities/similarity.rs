//! The interface of a similarity: two sides to scores, and the scores' gradient back to the sides.

use std::fmt::Debug;

use ndarray::{Array2, ArrayView2};

/// Rows of numbers, mostly a vector each.
pub type Matrix<'a> = ArrayView2<'a, f32>;

/// Gradients at the rows on the left and at those on the right.
pub type SideGradients = (Array2<f32>, Array2<f32>);

/// Two sides to scores: a matrix of everyone against everyone, or one score a document, with its own anchor.
///
/// A loss asks for the scores that it needs and hands back its gradient at them
/// ([`BatchSides`](crate::losses::BatchSides)); it never sees embeddings.
///
/// Both sides are prepared once (for the cosine: brought to length 1), however many scores are asked of them, and the
/// sums of gradients go back through that preparation once.
pub trait Similarity: Debug + Send + Sync {
    /// Brings a side into the form that scores are computed from.
    fn prepare(&self, rows: Matrix<'_>) -> PreparedRows;

    /// Scores of every prepared row on the left against every one on the right.
    ///
    /// # Shapes
    /// `left` is `[L, dim]`, `right` is `[R, dim]`; the scores are `[L, R]`.
    fn scores(&self, left: Matrix<'_>, right: Matrix<'_>) -> Array2<f32>;

    /// Gradients at the prepared rows, `[L, dim]` and `[R, dim]`, given the loss's gradient at the scores, `[L, R]`.
    fn backward(&self, left: Matrix<'_>, right: Matrix<'_>, at_scores: Matrix<'_>) -> SideGradients;

    /// Scores of prepared row `owners[j]` on the left against prepared row `j` on the right, `[R]`.
    fn own_scores(&self, left: Matrix<'_>, right: Matrix<'_>, owners: &[u32]) -> Vec<f32>;

    /// Gradients at the prepared rows, given the loss's gradient at [`Similarity::own_scores`].
    fn own_backward(&self, left: Matrix<'_>, right: Matrix<'_>, owners: &[u32], at_scores: &[f32]) -> SideGradients;

    /// Turns the gradient at prepared rows into that at the rows as they were given.
    fn unprepare(&self, prepared: &PreparedRows, gradient: &mut Array2<f32>);

    /// Scores of every row on the left against every row on the right, with nothing kept.
    fn compare(&self, left: Matrix<'_>, right: Matrix<'_>) -> Array2<f32> {
        self.scores(self.prepare(left).rows.view(), self.prepare(right).rows.view())
    }
}

/// One side in the form that scores are computed from.
#[derive(Debug, Clone)]
pub struct PreparedRows {
    /// `[texts, dim]`.
    pub rows: Array2<f32>,
    /// Factor of each row: 1/length for the cosine, nothing where rows stay as they are.
    pub factors: Vec<f32>,
}
