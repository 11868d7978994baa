//! What a similarity gives: two sides to scores, and the scores' gradient back to the sides.

use std::fmt::Debug;

use burn::tensor::Tensor;
use ndarray::{Array2, ArrayView2};

/// Two sides to scores: a matrix of everyone against everyone, or one score a document, with its own anchor.
///
/// A loss asks for the scores that it needs and hands back its gradient at them
/// ([`HostSides`](crate::losses::HostSides)); it never sees embeddings. Each similarity is written twice:
/// composed of tensor operations, for any device and as the reference, and by hand for host memory,
/// with its own backward pass. Tests hold them together.
///
/// In host memory both sides are prepared once (for the cosine: brought to length 1), however many scores are asked
/// of them, and the sums of gradients go back through that preparation once.
pub trait Similarity: Debug + Send + Sync {
    /// Scores of every row on the left against every row on the right.
    ///
    /// # Shapes
    /// `left` is `[L, dim]`, `right` is `[R, dim]`; the scores are `[L, R]`.
    fn forward(&self, left: Tensor<2>, right: Tensor<2>) -> Tensor<2>;

    /// Scores of each row on the left against the same row on the right: `[N, dim]` twice to `[N]`.
    fn forward_rows(&self, left: Tensor<2>, right: Tensor<2>) -> Tensor<1>;

    /// Brings a side into the form that scores are computed from.
    fn prepare_host(&self, rows: ArrayView2<'_, f32>) -> Prepared;

    /// [`Similarity::forward`] of prepared rows in host memory.
    fn scores_host(&self, left: ArrayView2<'_, f32>, right: ArrayView2<'_, f32>) -> Array2<f32>;

    /// Gradients at the prepared rows, `[L, dim]` and `[R, dim]`, given the loss's gradient at the scores, `[L, R]`.
    fn backward_host(
        &self,
        left: ArrayView2<'_, f32>,
        right: ArrayView2<'_, f32>,
        at_scores: ArrayView2<'_, f32>,
    ) -> (Array2<f32>, Array2<f32>);

    /// Scores of prepared row `owners[j]` on the left against prepared row `j` on the right, `[R]`.
    fn own_scores_host(&self, left: ArrayView2<'_, f32>, right: ArrayView2<'_, f32>, owners: &[u32]) -> Vec<f32>;

    /// Gradients at the prepared rows, given the loss's gradient at [`Similarity::own_scores_host`].
    fn own_backward_host(
        &self,
        left: ArrayView2<'_, f32>,
        right: ArrayView2<'_, f32>,
        owners: &[u32],
        at_scores: &[f32],
    ) -> (Array2<f32>, Array2<f32>);

    /// Turns the gradient at prepared rows into that at the rows as they were given.
    fn unprepare_host(&self, prepared: &Prepared, gradient: &mut Array2<f32>);

    /// Scores of every row on the left against every row on the right, with nothing kept.
    fn forward_host(&self, left: ArrayView2<'_, f32>, right: ArrayView2<'_, f32>) -> Array2<f32> {
        self.scores_host(self.prepare_host(left).rows.view(), self.prepare_host(right).rows.view())
    }
}

/// One side in the form that scores are computed from.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// `[texts, dim]`.
    pub rows: Array2<f32>,
    /// What each row was multiplied by: 1/length for the cosine, nothing where rows stay as they are.
    pub factors: Vec<f32>,
}
