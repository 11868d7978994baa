//! Cosine and dot product: one vector a text.

use burn::tensor::Tensor;
use ndarray::{Array2, ArrayView2, ArrayViewMut1};
use rayon::prelude::*;

use super::{
    product,
    similarity::{HostScores, Similarity},
};

/// Cosine or dot product of two vectors.
///
/// Cosine: s = a·b / (‖a‖·‖b‖). A vector of zeros has the cosine 0 with everything and gets no gradient
/// (PyTorch divides by max(‖a‖, 1e-12) instead and hands such a row a gradient of up to 1e12).
#[derive(Debug, Clone, Copy)]
pub struct Dense {
    normalize: bool,
}

impl Dense {
    /// The cosine.
    pub fn cosine() -> Self {
        Self { normalize: true }
    }

    /// The dot product.
    pub fn dot() -> Self {
        Self { normalize: false }
    }
}

impl Similarity for Dense {
    fn forward(&self, anchors: Tensor<2>, documents: Tensor<2>) -> Tensor<2> {
        if self.normalize {
            return unit(anchors).matmul(unit(documents).transpose());
        }
        anchors.matmul(documents.transpose())
    }

    fn forward_host(&self, anchors: ArrayView2<'_, f32>, documents: ArrayView2<'_, f32>) -> HostScores {
        let (anchors, anchor_factors) = self.prepare(anchors);
        let (documents, document_factors) = self.prepare(documents);
        let scores = product::by_rows(anchors.view(), documents.view());
        HostScores { scores, anchors, documents, anchor_factors, document_factors }
    }

    fn backward_host(&self, forward: &HostScores, at_scores: ArrayView2<'_, f32>) -> (Array2<f32>, Array2<f32>) {
        let mut at_anchors = product::plain(at_scores, forward.documents.view());
        let mut at_documents = product::by_columns(at_scores, forward.anchors.view());
        if self.normalize {
            through_length(&mut at_anchors, &forward.anchors, &forward.anchor_factors);
            through_length(&mut at_documents, &forward.documents, &forward.document_factors);
        }
        (at_anchors, at_documents)
    }
}

impl Dense {
    fn prepare(&self, rows: ArrayView2<'_, f32>) -> (Array2<f32>, Vec<f32>) {
        let mut rows = rows.as_standard_layout().into_owned();
        if !self.normalize {
            return (rows, Vec::new());
        }
        let divide = |mut row: ArrayViewMut1<'_, f32>| {
            let squares: f32 = row.iter().map(|x| x * x).sum();
            let factor = if squares > 0.0 { squares.sqrt().recip() } else { 0.0 };
            row.mapv_inplace(|x| x * factor);
            factor
        };
        let factors = rows.outer_iter_mut().collect::<Vec<_>>().into_par_iter().map(divide).collect();
        (rows, factors)
    }
}

/// From the gradient at unit rows u = x·f to the gradient at x: f·(g − u·(u·g)).
fn through_length(gradients: &mut Array2<f32>, units: &Array2<f32>, factors: &[f32]) {
    let rows: Vec<_> = gradients.outer_iter_mut().zip(units.outer_iter()).zip(factors).collect();
    rows.into_par_iter().for_each(|((mut g, unit), factor)| {
        let along = g.dot(&unit);
        g.zip_mut_with(&unit, |g, u| *g = factor * (*g - u * along));
    });
}

/// Rows divided by their Euclidean length; rows of zeros stay zeros.
fn unit(rows: Tensor<2>) -> Tensor<2> {
    let squares = rows.clone().square().sum_dim(1);
    let zero = squares.clone().equal_elem(0.0);
    let factors = squares.mask_fill(zero.clone(), 1.0).sqrt().recip().mask_fill(zero, 0.0);
    rows * factors
}
