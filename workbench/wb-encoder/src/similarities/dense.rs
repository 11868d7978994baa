//! Cosine and dot product: one vector a text.

use ndarray::{Array2, ArrayViewMut1};
use rayon::prelude::*;

use super::{
    product, rows,
    similarity::{Matrix, PreparedRows, SideGradients, Similarity},
};
use crate::kernels::vector::{add_scaled, dot, vectorized};

/// Cosine or dot product of two vectors.
///
/// Cosine: s = a·b / (‖a‖·‖b‖). A vector of zeros has the cosine 0 with everything and gets no gradient
/// (PyTorch divides by max(‖a‖, 1e-12) instead and hands such a row a gradient of up to 1e12).
#[derive(Debug, Clone, Copy)]
pub struct DenseSimilarity {
    normalize: bool,
}

impl DenseSimilarity {
    /// The cosine.
    pub fn cosine() -> Self {
        Self { normalize: true }
    }

    /// The dot product.
    pub fn dot() -> Self {
        Self { normalize: false }
    }
}

impl Similarity for DenseSimilarity {
    fn prepare(&self, rows: Matrix<'_>) -> PreparedRows {
        let mut rows = rows.as_standard_layout().into_owned();
        if !self.normalize {
            return PreparedRows { rows, factors: Vec::new() };
        }
        let divide = |mut row: ArrayViewMut1<'_, f32>| {
            let squares: f32 = row.iter().map(|x| x * x).sum();
            let factor = if squares > 0.0 { squares.sqrt().recip() } else { 0.0 };
            row.mapv_inplace(|x| x * factor);
            factor
        };
        let factors = rows.outer_iter_mut().collect::<Vec<_>>().into_par_iter().map(divide).collect();
        PreparedRows { rows, factors }
    }

    fn scores(&self, left: Matrix<'_>, right: Matrix<'_>) -> Array2<f32> {
        product::by_rows(left, right)
    }

    fn backward(&self, left: Matrix<'_>, right: Matrix<'_>, at_scores: Matrix<'_>) -> SideGradients {
        (product::plain(at_scores, right), product::by_columns(at_scores, left))
    }

    fn own_scores(&self, left: Matrix<'_>, right: Matrix<'_>, owners: &[u32]) -> Vec<f32> {
        rows::own_scores(left, right, owners, |left, right| vectorized!(dot(left, right)))
    }

    fn own_backward(&self, left: Matrix<'_>, right: Matrix<'_>, owners: &[u32], at_scores: &[f32]) -> SideGradients {
        rows::own_backward(left, right, owners, at_scores, |_, other, at, sum| add(sum, at, other))
    }

    /// From the gradient at unit rows u = x·f to the gradient at x: f·(g − u·(u·g)).
    fn unprepare(&self, prepared: &PreparedRows, gradient: &mut Array2<f32>) {
        if !self.normalize {
            return;
        }
        let rows: Vec<_> = gradient.outer_iter_mut().zip(prepared.rows.outer_iter()).zip(&prepared.factors).collect();
        rows.into_par_iter().for_each(|((mut g, unit), factor)| {
            let along = g.dot(&unit);
            g.zip_mut_with(&unit, |g, u| *g = factor * (*g - u * along));
        });
    }
}

fn add(sum: &mut [f32], factor: f32, row: &[f32]) {
    vectorized!(add_scaled(sum, factor, row));
}
