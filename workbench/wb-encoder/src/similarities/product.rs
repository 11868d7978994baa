//! Matrix products of embeddings and scores, on all threads.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::kernels::{Mat, MatMut, matmul};

/// Rows of a result that one thread computes at a time; fixed, so that the result does not depend on the threads.
const ROWS: usize = 128;

/// A·Bᵀ: `[m, k]` by `[n, k]` is `[m, n]`.
pub fn by_rows(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> Array2<f32> {
    let ((m, k), n) = (a.dim(), b.nrows());
    let (a, b) = (a.as_standard_layout(), b.as_standard_layout());
    let (a, b) = (a.as_slice().unwrap_or_default(), b.as_slice().unwrap_or_default());
    in_blocks(m, n, |first, block| {
        let rows = block.len() / n;
        let part = Mat::new(&a[first * k..], rows, k);
        matmul(MatMut::new(block, rows, n), false, part, Mat::new(b, n, k).t(), 1.0);
    })
}

/// A·B: `[m, k]` by `[k, n]` is `[m, n]`.
pub fn plain(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> Array2<f32> {
    let ((m, k), n) = (a.dim(), b.ncols());
    let (a, b) = (a.as_standard_layout(), b.as_standard_layout());
    let (a, b) = (a.as_slice().unwrap_or_default(), b.as_slice().unwrap_or_default());
    in_blocks(m, n, |first, block| {
        let rows = block.len() / n;
        let part = Mat::new(&a[first * k..], rows, k);
        matmul(MatMut::new(block, rows, n), false, part, Mat::new(b, k, n), 1.0);
    })
}

/// Aᵀ·B: `[k, m]` by `[k, n]` is `[m, n]`.
pub fn by_columns(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> Array2<f32> {
    let ((k, m), n) = (a.dim(), b.ncols());
    let (a, b) = (a.as_standard_layout(), b.as_standard_layout());
    let (a, b) = (a.as_slice().unwrap_or_default(), b.as_slice().unwrap_or_default());
    in_blocks(m, n, |first, block| {
        let rows = block.len() / n;
        let part = Mat::strided(a.get(first..).unwrap_or_default(), k, rows, m).t();
        matmul(MatMut::new(block, rows, n), false, part, Mat::new(b, k, n), 1.0);
    })
}

/// Fills `[m, n]` in blocks of rows: `fill(first row, block)`.
fn in_blocks(m: usize, n: usize, fill: impl Fn(usize, &mut [f32]) + Sync) -> Array2<f32> {
    let mut out = Array2::zeros((m, n));
    if let Some(all) = out.as_slice_mut().filter(|all| !all.is_empty()) {
        all.par_chunks_mut(ROWS * n).enumerate().for_each(|(at, block)| fill(at * ROWS, block));
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
