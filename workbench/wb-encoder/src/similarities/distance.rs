//! Euclidean and Manhattan distance, negated: the closer, the higher the score.

use burn::tensor::Tensor;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::{
    rows::{self, by_owner},
    similarity::{Prepared, Similarity},
};
use crate::kernels::vector::vectorized;

/// A negated distance: s = −‖a − b‖₂ or s = −Σ|a − b|.
///
/// Two equal vectors have the score 0 and get no gradient from it (PyTorch's root has none that is a number there).
/// As sentence-transformers' `pairwise_euclidean_sim` and `pairwise_manhattan_sim`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// −‖a − b‖₂.
    Euclidean,
    /// −Σ|a − b|.
    Manhattan,
}

impl Distance {
    fn score(self, a: &[f32], b: &[f32]) -> f32 {
        vectorized(
            #[inline(always)]
            || match self {
                Self::Euclidean => -reduce(a, b, |x| x * x).sqrt(),
                Self::Manhattan => -reduce(a, b, f32::abs),
            },
        )
    }

    /// Adds `at_score` times ∂s/∂a to `gradient`.
    fn add_gradient(self, a: &[f32], b: &[f32], at_score: f32, gradient: &mut [f32]) {
        if at_score == 0.0 {
            return;
        }
        vectorized(
            #[inline(always)]
            || match self {
                Self::Euclidean => {
                    let length = reduce(a, b, |x| x * x).sqrt();
                    let factor = if length > 0.0 { at_score / length } else { 0.0 };
                    for ((g, a), b) in gradient.iter_mut().zip(a).zip(b) {
                        *g += factor * (b - a);
                    }
                }
                Self::Manhattan => {
                    for ((g, a), b) in gradient.iter_mut().zip(a).zip(b) {
                        let sign = if b > a { 1.0 } else { 0.0 } - if a > b { 1.0 } else { 0.0 };
                        *g += at_score * sign;
                    }
                }
            },
        );
    }
}

/// Σ f(a − b), in lanes whose order does not depend on the processor.
#[inline(always)]
fn reduce(a: &[f32], b: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    const LANES: usize = 16;
    let mut lanes = [0.0f32; LANES];
    let (left, right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| f(a - b)).sum();
    for (a, b) in left.zip(right) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += f(a - b);
        }
    }
    lanes.iter().sum::<f32>() + rest
}

impl Similarity for Distance {
    fn forward(&self, left: Tensor<2>, right: Tensor<2>) -> Tensor<2> {
        let ([l, dim], [r, _]) = (left.dims(), right.dims());
        let apart = left.reshape([l, 1, dim]) - right.reshape([1, r, dim]);
        self.lengths(apart.reshape([l * r, dim])).reshape([l, r])
    }

    fn forward_rows(&self, left: Tensor<2>, right: Tensor<2>) -> Tensor<1> {
        self.lengths(left - right)
    }

    fn prepare_host(&self, rows: ArrayView2<'_, f32>) -> Prepared {
        Prepared { rows: rows.as_standard_layout().into_owned(), factors: Vec::new() }
    }

    fn scores_host(&self, left: ArrayView2<'_, f32>, right: ArrayView2<'_, f32>) -> Array2<f32> {
        let (left_rows, right_rows) = (rows::slices(&left), rows::slices(&right));
        let mut scores = Array2::zeros((left.nrows(), right.nrows()));
        rows::each(&mut scores, |i, row| {
            row.iter_mut().zip(&right_rows).for_each(|(score, right)| *score = self.score(left_rows[i], right));
        });
        scores
    }

    fn backward_host(
        &self,
        left: ArrayView2<'_, f32>,
        right: ArrayView2<'_, f32>,
        at_scores: ArrayView2<'_, f32>,
    ) -> (Array2<f32>, Array2<f32>) {
        let (left_rows, right_rows) = (rows::slices(&left), rows::slices(&right));
        let mut at_left = Array2::zeros(left.dim());
        rows::each(&mut at_left, |i, row| {
            for (j, right) in right_rows.iter().enumerate() {
                self.add_gradient(left_rows[i], right, at_scores[[i, j]], row);
            }
        });
        let mut at_right = Array2::zeros(right.dim());
        rows::each(&mut at_right, |j, row| {
            for (i, left) in left_rows.iter().enumerate() {
                self.add_gradient(right_rows[j], left, at_scores[[i, j]], row);
            }
        });
        (at_left, at_right)
    }

    fn own_scores_host(&self, left: ArrayView2<'_, f32>, right: ArrayView2<'_, f32>, owners: &[u32]) -> Vec<f32> {
        let (left, right) = (rows::slices(&left), rows::slices(&right));
        owners.par_iter().zip(&right).map(|(owner, right)| self.score(left[*owner as usize], right)).collect()
    }

    fn own_backward_host(
        &self,
        left: ArrayView2<'_, f32>,
        right: ArrayView2<'_, f32>,
        owners: &[u32],
        at_scores: &[f32],
    ) -> (Array2<f32>, Array2<f32>) {
        let (left_rows, right_rows) = (rows::slices(&left), rows::slices(&right));
        let mut at_right = Array2::zeros(right.dim());
        rows::each(&mut at_right, |j, row| {
            self.add_gradient(right_rows[j], left_rows[owners[j] as usize], at_scores[j], row);
        });
        let owned = by_owner(owners, left.nrows());
        let mut at_left = Array2::zeros(left.dim());
        rows::each(&mut at_left, |i, row| {
            owned[i].iter().for_each(|j| self.add_gradient(left_rows[i], right_rows[*j], at_scores[*j], row));
        });
        (at_left, at_right)
    }

    fn unprepare_host(&self, _prepared: &Prepared, _gradient: &mut Array2<f32>) {}
}

impl Distance {
    /// Negated lengths of rows, `[N, dim]` to `[N]`.
    fn lengths(self, apart: Tensor<2>) -> Tensor<1> {
        let rows = apart.dims()[0];
        let lengths = match self {
            Self::Manhattan => apart.abs().sum_dim(1),
            Self::Euclidean => {
                let squares = apart.square().sum_dim(1);
                let zero = squares.clone().equal_elem(0.0);
                squares.mask_fill(zero.clone(), 1.0).sqrt().mask_fill(zero, 0.0)
            }
        };
        lengths.reshape([rows]).neg()
    }
}
