//! Matrix products of embeddings and scores, on all threads.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::kernels::{Mat, MatMut, matmul};

/// Rows of a result that one thread computes at a time; fixed, so that the result does not depend on the threads.
const ROWS: usize = 128;

/// A·Bᵀ: `[m, k]` by `[n, k]` is `[m, n]`.
pub fn by_rows(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> Array2<f32> {
    let ((m, k), n) = (a.dim(), b.nrows());
    in_blocks(a, b, (m, n), |a, b, first, rows| (Mat::new(&a[first * k..], rows, k), Mat::new(b, n, k).t()))
}

/// A·B: `[m, k]` by `[k, n]` is `[m, n]`.
pub fn plain(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> Array2<f32> {
    let ((m, k), n) = (a.dim(), b.ncols());
    in_blocks(a, b, (m, n), |a, b, first, rows| (Mat::new(&a[first * k..], rows, k), Mat::new(b, k, n)))
}

/// Aᵀ·B: `[k, m]` by `[k, n]` is `[m, n]`.
pub fn by_columns(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> Array2<f32> {
    let ((k, m), n) = (a.dim(), b.ncols());
    in_blocks(a, b, (m, n), |a, b, first, rows| {
        (Mat::strided(a.get(first..).unwrap_or_default(), k, rows, m).t(), Mat::new(b, k, n))
    })
}

/// A product `[m, n]` in blocks of rows: `sides(numbers of A, numbers of B, first row, rows)` are the two sides of a block.
fn in_blocks(
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    (m, n): (usize, usize),
    sides: impl for<'s> Fn(&'s [f32], &'s [f32], usize, usize) -> (Mat<'s>, Mat<'s>) + Sync,
) -> Array2<f32> {
    let (a, b) = (a.as_standard_layout(), b.as_standard_layout());
    let (a, b) = (a.as_slice().unwrap_or_default(), b.as_slice().unwrap_or_default());
    let mut out = Array2::zeros((m, n));
    if let Some(all) = out.as_slice_mut().filter(|all| !all.is_empty()) {
        all.par_chunks_mut(ROWS * n).enumerate().for_each(|(at, block)| {
            let rows = block.len() / n;
            let (left, right) = sides(a, b, at * ROWS, rows);
            matmul(MatMut::new(block, rows, n), false, left, right, 1.0);
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_equal_those_of_ndarray() {
        for (m, k, n) in [(1, 1, 1), (3, 5, 2), (130, 7, 300), (257, 16, 128), (0, 3, 4), (3, 4, 0), (2, 0, 3)] {
            let a = Array2::from_shape_fn((m, k), |(i, j)| ((7 * i + 3 * j) % 11) as f32 - 5.0);
            let b = Array2::from_shape_fn((k, n), |(i, j)| ((5 * i + 2 * j) % 13) as f32 - 6.0);
            let expected = a.dot(&b);
            let (at, bt) = (a.t().as_standard_layout().into_owned(), b.t().as_standard_layout().into_owned());
            // Whole numbers: exact.
            assert_eq!(plain(a.view(), b.view()), expected);
            assert_eq!(by_rows(a.view(), bt.view()), expected);
            assert_eq!(by_columns(at.view(), b.view()), expected);
        }
    }
}
