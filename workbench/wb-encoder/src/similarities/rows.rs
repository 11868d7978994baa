//! Small helpers for work on the rows of matrices, on all threads and with results that do not depend on them.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::similarity::{Matrix, SideGradients};

/// The rows as slices. Prepared sides are in standard layout, and so is any range of their rows.
pub fn slices<'a>(matrix: &'a ArrayView2<'_, f32>) -> Vec<&'a [f32]> {
    let width = matrix.ncols();
    match matrix.as_slice() {
        Some(all) if width > 0 => all.chunks_exact(width).collect(),
        _ => vec![&[]; matrix.nrows()],
    }
}

/// Fills every row: `fill(row number, row)`.
pub fn each(matrix: &mut Array2<f32>, fill: impl Fn(usize, &mut [f32]) + Sync) {
    let width = matrix.ncols().max(1);
    if let Some(all) = matrix.as_slice_mut() {
        all.par_chunks_exact_mut(width).enumerate().for_each(|(at, row)| fill(at, row));
    }
}

/// Scores of row `owners[j]` on the left against row `j` on the right.
pub fn own_scores(
    left: Matrix<'_>,
    right: Matrix<'_>,
    owners: &[u32],
    score: impl Fn(&[f32], &[f32]) -> f32 + Sync,
) -> Vec<f32> {
    let (left, right) = (slices(&left), slices(&right));
    owners.par_iter().zip(&right).map(|(owner, right)| score(left[*owner as usize], right)).collect()
}

/// Gradients at both sides of [`own_scores`]: `add(row, other row, gradient at their score, sum)` adds that at a row.
pub fn own_backward(
    left: Matrix<'_>,
    right: Matrix<'_>,
    owners: &[u32],
    at_scores: &[f32],
    add: impl Fn(&[f32], &[f32], f32, &mut [f32]) + Sync,
) -> SideGradients {
    let (left_rows, right_rows) = (slices(&left), slices(&right));
    let mut at_right = Array2::zeros(right.dim());
    each(&mut at_right, |j, sum| add(right_rows[j], left_rows[owners[j] as usize], at_scores[j], sum));
    let owned = by_owner(owners, left.nrows());
    let mut at_left = Array2::zeros(left.dim());
    each(&mut at_left, |i, sum| owned[i].iter().for_each(|j| add(left_rows[i], right_rows[*j], at_scores[*j], sum)));
    (at_left, at_right)
}

/// Lists what each of `n` owners owns, in order.
pub fn by_owner(owners: &[u32], n: usize) -> Vec<Vec<usize>> {
    let mut owned = vec![Vec::new(); n];
    for (at, owner) in owners.iter().enumerate() {
        owned[*owner as usize].push(at);
    }
    owned
}
