//! A safe face for the `gemm` crate: one thread, any strides, bounds checked before the call.
// One of the three files with `unsafe`: `gemm` takes pointers. `Mat` and `MatMut` prove the bounds.
#![allow(unsafe_code, reason = "`gemm` takes pointers; the bounds are checked before the call")]

use gemm::Parallelism;

use super::{instructions::IS_LOWERED, packed};

/// A matrix to read: `data[row * row_stride + column * column_stride]`.
#[derive(Debug, Clone, Copy)]
pub struct Mat<'a> {
    pub(super) data: &'a [f32],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) row_stride: usize,
    pub(super) column_stride: usize,
}

/// A matrix to write, rows apart by `row_stride`, columns adjacent.
#[derive(Debug)]
pub struct MatMut<'a> {
    pub(super) data: &'a mut [f32],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) row_stride: usize,
}

impl<'a> Mat<'a> {
    /// Rows one after the other.
    pub fn new(data: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// Rows apart by `row_stride`: a block of columns of a wider matrix.
    pub fn strided(data: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        check(data.len(), rows, columns, row_stride);
        Self { data, rows, columns, row_stride, column_stride: 1 }
    }

    /// The transpose: rows and columns changed over.
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

impl<'a> MatMut<'a> {
    /// Rows one after the other.
    pub fn new(data: &'a mut [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// Rows apart by `row_stride`: a block of columns of a wider matrix.
    pub fn strided(data: &'a mut [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        check(data.len(), rows, columns, row_stride);
        assert!(rows < 2 || row_stride >= columns, "rows of a result overlap");
        Self { data, rows, columns, row_stride }
    }
}

fn check(len: usize, rows: usize, columns: usize, row_stride: usize) {
    if rows > 0 && columns > 0 {
        let needed = (rows - 1) * row_stride + columns;
        assert!(
            needed <= len,
            "a matrix of {rows} x {columns}, rows apart by {row_stride}, needs {needed} numbers and has {len}"
        );
    }
}

/// `result = scale · left · right`, added to what is there with `add`. Runs on the calling thread.
///
/// # Shapes
/// `left` `[m, k]`, `right` `[k, n]`, `result` `[m, n]`; anything else is a defect of the caller and panics.
pub fn matmul(result: MatMut<'_>, add: bool, left: Mat<'_>, right: Mat<'_>, scale: f32) {
    assert_eq!(
        (result.rows, result.columns, left.columns),
        (left.rows, right.columns, right.rows),
        "[{}, {}] = [{}, {}] · [{}, {}]",
        result.rows,
        result.columns,
        left.rows,
        left.columns,
        right.rows,
        right.columns
    );
    if result.rows == 0 || result.columns == 0 {
        return;
    }
    if left.columns == 0 {
        if !add {
            for row in result.data.chunks_mut(result.row_stride).take(result.rows) {
                row[..result.columns].fill(0.0);
            }
        }
        return;
    }
    if *IS_LOWERED {
        return packed::pack_and_matmul(result, add, left, right, scale);
    }
    let stride = |stride: usize| stride as isize;
    // SAFETY: `check` proved at construction that every index below rows and columns lies inside each slice
    // (a transposed `Mat` reaches the same indices), the result's rows do not overlap, and the borrow checker
    // proves that the result is apart from both operands.
    unsafe {
        gemm::gemm(
            result.rows,
            result.columns,
            left.columns,
            result.data.as_mut_ptr(),
            1,
            stride(result.row_stride),
            add,
            left.data.as_ptr(),
            stride(left.column_stride),
            stride(left.row_stride),
            right.data.as_ptr(),
            stride(right.column_stride),
            stride(right.row_stride),
            1.0,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equals_the_sum_of_products(m in 0usize..20, k in 0usize..20, n in 0usize..20, tl: bool, tr: bool, add: bool) {
            let numbers = |n: usize, from: usize| (0..n).map(|i| ((i * 7 + from) % 11) as f32 - 5.0).collect::<Vec<_>>();
            let (a, b) = (numbers(m * k, 3), numbers(k * n, 5));
            let mut result = numbers(m * n, 1);
            let before = result.clone();
            let left = if tl { Mat::new(&a, k, m).t() } else { Mat::new(&a, m, k) };
            let right = if tr { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
            matmul(MatMut::new(&mut result, m, n), add, left, right, 0.5);
            for i in 0..m {
                for j in 0..n {
                    let product: f32 = (0..k)
                        .map(|p| (if tl { a[p * m + i] } else { a[i * k + p] }) * (if tr { b[j * k + p] } else { b[p * n + j] }))
                        .sum();
                    let expected = 0.5 * product + if add { before[i * n + j] } else { 0.0 };
                    prop_assert!((result[i * n + j] - expected).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "needs 7 numbers and has 6")]
    fn bounds_are_checked() {
        Mat::strided(&[0.0; 6], 2, 3, 4);
    }
}
