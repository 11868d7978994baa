//! What a similarity gives: two sides to a score matrix, and the scores' gradient back to the sides.

use std::fmt::Debug;

use burn::tensor::Tensor;
use ndarray::{Array2, ArrayView2};

/// Two sides to a score matrix.
///
/// Each similarity is written twice: composed of tensor operations, for any device and as the reference,
/// and by hand for host memory, with its own backward pass. Tests hold them together.
pub trait Similarity: Debug + Send + Sync {
    /// Scores of every anchor against every document.
    ///
    /// # Shapes
    /// `anchors` is `[A, dim]`, `documents` is `[D, dim]`; the scores are `[A, D]`.
    fn forward(&self, anchors: Tensor<2>, documents: Tensor<2>) -> Tensor<2>;

    /// [`Similarity::forward`] in host memory.
    fn forward_host(&self, anchors: ArrayView2<'_, f32>, documents: ArrayView2<'_, f32>) -> HostScores;

    /// Gradients at the anchors `[A, dim]` and the documents `[D, dim]`, given the loss's gradient at the scores `[A, D]`.
    fn backward_host(&self, forward: &HostScores, at_scores: ArrayView2<'_, f32>) -> (Array2<f32>, Array2<f32>);
}

/// Scores in host memory, and what the way back needs.
#[derive(Debug, Clone)]
pub struct HostScores {
    /// Scores `[A, D]`.
    pub scores: Array2<f32>,
    /// The anchors as they were multiplied, `[A, dim]`.
    pub anchors: Array2<f32>,
    /// The documents as they were multiplied, `[D, dim]`.
    pub documents: Array2<f32>,
    /// What each anchor was multiplied by before: 1/length for the cosine, nothing for the dot product.
    pub anchor_factors: Vec<f32>,
    /// The same for each document.
    pub document_factors: Vec<f32>,
}
