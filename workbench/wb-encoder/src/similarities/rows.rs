//! Small helpers for work on the rows of matrices, on all threads and with results that do not depend on them.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

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

/// For each of `n` owners what it owns, in order.
pub fn by_owner(owners: &[u32], n: usize) -> Vec<Vec<usize>> {
    let mut owned = vec![Vec::new(); n];
    for (at, owner) in owners.iter().enumerate() {
        owned[*owner as usize].push(at);
    }
    owned
}
