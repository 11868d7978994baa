//! Cosine and dot product: one vector a text.

use ndarray::{Array2, ArrayView2, ArrayViewMut1};
use rayon::prelude::*;

use super::{
    product,
    rows::{self, by_owner},
    similarity::{Prepared, Similarity},
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
    fn prepare(&self, rows: ArrayView2<'_, f32>) -> Prepared {
        let mut rows = rows.as_standard_layout().into_owned();
        if !self.normalize {
            return Prepared { rows, factors: Vec::new() };
        }
        let divide = |mut row: ArrayViewMut1<'_, f32>| {
            let squares: f32 = row.iter().map(|x| x * x).sum();
            let factor = if squares > 0.0 { squares.sqrt().recip() } else { 0.0 };
            row.mapv_inplace(|x| x * factor);
            factor
        };
        let factors = rows.outer_iter_mut().collect::<Vec<_>>().into_par_iter().map(divide).collect();
        Prepared { rows, factors }
    }

    fn scores(&self, left: ArrayView2<'_, f32>, right: ArrayView2<'_, f32>) -> Array2<f32> {
        product::by_rows(left, right)
    }

    fn backward(
        &self,
        left: ArrayView2<'_, f32>,
        right: ArrayView2<'_, f32>,
        at_scores: ArrayView2<'_, f32>,
    ) -> (Array2<f32>, Array2<f32>) {
        (product::plain(at_scores, right), product::by_columns(at_scores, left))
    }

    fn own_scores(&self, left: ArrayView2<'_, f32>, right: ArrayView2<'_, f32>, owners: &[u32]) -> Vec<f32> {
        let (left, right) = (rows::slices(&left), rows::slices(&right));
        let score = |(owner, right): (&u32, &&[f32])| {
            vectorized(
                #[inline(always)]
                || dot(left[*owner as usize], right),
            )
        };
        owners.par_iter().zip(&right).map(score).collect()
    }

    fn own_backward(
        &self,
        left: ArrayView2<'_, f32>,
        right: ArrayView2<'_, f32>,
        owners: &[u32],
        at_scores: &[f32],
    ) -> (Array2<f32>, Array2<f32>) {
        let (left_rows, right_rows) = (rows::slices(&left), rows::slices(&right));
        let mut at_right = Array2::zeros(right.dim());
        rows::each(&mut at_right, |j, row| add(row, at_scores[j], left_rows[owners[j] as usize]));
        let owned = by_owner(owners, left.nrows());
        let mut at_left = Array2::zeros(left.dim());
        rows::each(&mut at_left, |i, row| owned[i].iter().for_each(|j| add(row, at_scores[*j], right_rows[*j])));
        (at_left, at_right)
    }

    /// From the gradient at unit rows u = x·f to the gradient at x: f·(g − u·(u·g)).
    fn unprepare(&self, prepared: &Prepared, gradient: &mut Array2<f32>) {
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
    vectorized(
        #[inline(always)]
        || add_scaled(sum, factor, row),
    );
}
