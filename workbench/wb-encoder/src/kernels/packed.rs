//! Products with a right side that is packed once: the same weights multiply every group of every batch.
//!
//! A general matrix product packs both sides on every call, which costs a fifth of an encoder's time.
//! Here the right side lies in panels of a few vectors' width, the left side is read where it is,
//! and a tile of the result stays in registers over the whole inner dimension (Goto and van de Geijn 2008,
//! "Anatomy of High-Performance Matrix Multiplication", without its blocking of the inner dimension, which is short here).
//! Every element is summed in the order of the inner dimension, whatever else is in the product.
// Loads and stores go through pointers; `Mat`, `MatMut` and `Packed` prove the bounds.
#![allow(unsafe_code, reason = "`gemm` takes pointers; the bounds are checked before the call")]

use std::{cell::RefCell, hint::black_box};

use pulp::{Arch, Simd, WithSimd};

use super::{
    instructions::ARCH,
    matmul::{Mat, MatMut},
};

/// One cache line, so that panels begin at one.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// The right side of products, `[inner, columns]`.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    lines: Vec<Line>,
    inner: usize,
    columns: usize,
    /// Vectors in a row of a panel.
    vectors: usize,
    /// Columns of a panel; those past the end are zeros.
    panel: usize,
}

impl Packed {
    /// Packs a matrix of any strides.
    pub fn new(right: Mat<'_>) -> Self {
        let mut packed = Self::default();
        packed.pack(right);
        packed
    }

    /// Packs another matrix, keeping the memory.
    pub fn pack(&mut self, right: Mat<'_>) {
        self.pack_for(*ARCH, right);
    }

    fn pack_for(&mut self, arch: Arch, right: Mat<'_>) {
        let lanes = arch.dispatch(Lanes);
        (self.inner, self.columns) = (right.rows, right.columns);
        self.vectors = right.columns.div_ceil(lanes).clamp(1, widest_panel(lanes));
        self.panel = self.vectors * lanes;
        let len = self.inner * self.columns.div_ceil(self.panel) * self.panel;
        self.lines.resize(len.div_ceil(16), Line::default());
        let (inner, columns, panel) = (self.inner, self.columns, self.panel);
        if inner == 0 {
            return;
        }
        for (at, rows) in self.numbers_mut()[..len].chunks_exact_mut(inner * panel).enumerate() {
            let width = panel.min(columns - at * panel);
            for (k, row) in rows.chunks_exact_mut(panel).enumerate() {
                let first = k * right.row_stride + at * panel * right.column_stride;
                let (taken, rest) = row.split_at_mut(width);
                if right.column_stride == 1 {
                    taken.copy_from_slice(&right.data[first..first + width]);
                } else {
                    for (column, x) in taken.iter_mut().enumerate() {
                        *x = right.data[first + column * right.column_stride];
                    }
                }
                rest.fill(0.0);
            }
        }
    }

    fn numbers_mut(&mut self) -> &mut [f32] {
        // SAFETY: a `Line` is sixteen numbers without padding.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 16) }
    }
}

/// Vectors in a row of a panel. A tile's sums, the panel's row and one number of the left side stay in registers:
/// 6 · 2 + 2 + 1 of the 16 that AVX2 has, 8 · 3 + 3 + 1 of the 32 of AVX-512. With 4 · 3 + 3 + 1 the compiler has no
/// register to spare on AVX2, and products ran at 58 % of the processor's peak in place of 90 %.
fn widest_panel(lanes: usize) -> usize {
    if lanes == 8 { 2 } else { 3 }
}

/// Asks for the number of numbers that a vector of a level holds.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

/// `result = scale · left · right`, added to what is there with `add`. Runs on the calling thread.
///
/// # Shapes
/// `left` `[m, k]`, `right` `[k, n]`, `result` `[m, n]`; anything else is a defect of the caller and panics.
pub fn matmul_packed(result: MatMut<'_>, add: bool, left: Mat<'_>, right: &Packed, scale: f32) {
    matmul_packed_on(*ARCH, result, add, left, right, scale);
}

/// A product whose right side is packed for it alone, into memory that the thread keeps.
pub(super) fn pack_and_matmul(result: MatMut<'_>, add: bool, left: Mat<'_>, right: Mat<'_>, scale: f32) {
    thread_local! {
        static PACKED: RefCell<Packed> = RefCell::default();
    }
    PACKED.with_borrow_mut(|packed| {
        packed.pack(right);
        matmul_packed(result, add, left, packed, scale);
    });
}

fn matmul_packed_on(arch: Arch, result: MatMut<'_>, add: bool, left: Mat<'_>, right: &Packed, scale: f32) {
    assert_eq!(
        (result.rows, result.columns, left.columns),
        (left.rows, right.columns, right.inner),
        "[{}, {}] = [{}, {}] · [{}, {}]",
        result.rows,
        result.columns,
        left.rows,
        left.columns,
        right.inner,
        right.columns
    );
    if result.rows > 0 && result.columns > 0 {
        arch.dispatch(Product { result, add, left, right, scale });
    }
}

struct Product<'a> {
    result: MatMut<'a>,
    add: bool,
    left: Mat<'a>,
    right: &'a Packed,
    scale: f32,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Rows of a tile: as many as leave registers for the panel's row, see `widest_panel`.
        match (S::F32_LANES == 8, self.right.vectors) {
            (true, 1) => self.run::<S, 6, 1>(simd),
            (true, _) => self.run::<S, 6, 2>(simd),
            (false, 1) => self.run::<S, 8, 1>(simd),
            (false, 2) => self.run::<S, 8, 2>(simd),
            (false, _) => self.run::<S, 8, 3>(simd),
        }
    }
}

impl Product<'_> {
    #[inline(always)]
    fn run<S: Simd, const M: usize, const V: usize>(mut self, simd: S) {
        let panels = self.right.columns.div_ceil(self.right.panel);
        for panel in 0..panels {
            let mut row = 0;
            while row + M <= self.result.rows {
                self.tile::<S, M, V>(simd, panel, row);
                row += M;
            }
            if M > 4 && row + 4 <= self.result.rows {
                self.tile::<S, 4, V>(simd, panel, row);
                row += 4;
            }
            if row + 2 <= self.result.rows {
                self.tile::<S, 2, V>(simd, panel, row);
                row += 2;
            }
            if row < self.result.rows {
                self.tile::<S, 1, V>(simd, panel, row);
            }
        }
    }

    /// M rows and one panel's columns of the result.
    #[expect(
        clippy::needless_range_loop,
        reason = "counted loops over arrays of known size are what the compiler unrolls"
    )]
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const V: usize>(&mut self, simd: S, panel: usize, row: usize) {
        let Self { result, add, left, right, scale } = self;
        let (inner, lanes) = (right.inner, S::F32_LANES);
        let zero = simd.splat_f32s(0.0);
        let mut sums = [[zero; V]; M];
        // SAFETY: `row + M` is at most the rows of `left` and `result`, and `panel` one of the panels of `right`;
        // `check` proved that those rows lie in their slices, and `pack` made every panel `inner · panel` numbers long.
        unsafe {
            // A pointer for each row, hidden from the compiler: it would make one out of the other, and the chain of
            // additions takes as long as the products.
            let x = left.data.as_ptr().wrapping_add(row * left.row_stride);
            let rows: [*const f32; M] = std::array::from_fn(|m| black_box(x.wrapping_add(m * left.row_stride)));
            let mut y = right.lines.as_ptr().cast::<f32>().wrapping_add(panel * inner * right.panel);
            let mut at = 0;
            for _ in 0..inner {
                let mut of_right = [zero; V];
                for v in 0..V {
                    of_right[v] = y.wrapping_add(v * lanes).cast::<S::f32s>().read_unaligned();
                }
                for m in 0..M {
                    let of_left = simd.splat_f32s(*rows[m].wrapping_add(at));
                    for v in 0..V {
                        sums[m][v] = simd.mul_add_e_f32s(of_left, of_right[v], sums[m][v]);
                    }
                }
                at += left.column_stride;
                y = y.wrapping_add(V * lanes);
            }
        }
        let first = panel * right.panel;
        let width = right.panel.min(right.columns - first);
        let factor = simd.splat_f32s(*scale);
        if width < V * lanes {
            for m in 0..M {
                let row = &mut result.data[(row + m) * result.row_stride + first..][..width];
                for v in 0..V {
                    let row = &mut row[(v * lanes).min(width)..((v + 1) * lanes).min(width)];
                    let before = if *add { simd.partial_load_f32s(row) } else { zero };
                    simd.partial_store_f32s(row, simd.mul_add_e_f32s(sums[m][v], factor, before));
                }
            }
            return;
        }
        // SAFETY: as above; the panel's columns end before those of `result`, and `check` proved that its rows lie in
        // their slice.
        unsafe {
            let out = result.data.as_mut_ptr().wrapping_add(row * result.row_stride + first);
            for m in 0..M {
                for v in 0..V {
                    let place = out.wrapping_add(m * result.row_stride + v * lanes).cast::<S::f32s>();
                    place.write_unaligned(if *add {
                        simd.mul_add_e_f32s(sums[m][v], factor, place.read_unaligned())
                    } else {
                        simd.mul_f32s(sums[m][v], factor)
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernels::{instructions::tests::levels, matmul::matmul};

    proptest! {
        #[test]
        fn equals_the_general_product(m in 0usize..30, k in 0usize..20, n in 0usize..110, tl: bool, tr: bool, add: bool) {
            let numbers = |n: usize, from: usize| (0..n).map(|i| ((i * 7 + from) % 11) as f32 - 5.0).collect::<Vec<_>>();
            let (a, b) = (numbers(m * k, 3), numbers(k * n, 5));
            let left = if tl { Mat::new(&a, k, m).t() } else { Mat::new(&a, m, k) };
            let right = if tr { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
            // Rows of the result wider than the product: what stands beside it stays.
            let before = numbers(m * (n + 3), 1);
            let mut expected = before.clone();
            matmul(MatMut::strided(&mut expected, m, n, n + 3), add, left, right, 0.5);
            let mut packed = Packed::new(Mat::new(&numbers(77 * 60, 2), 77, 60));
            for arch in levels() {
                let mut found = before.clone();
                packed.pack_for(arch, right);
                matmul_packed_on(arch, MatMut::strided(&mut found, m, n, n + 3), add, left, &packed, 0.5);
                for (found, expected) in found.iter().zip(&expected) {
                    prop_assert!((found - expected).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn levels_with_fused_products_give_the_same_bits() {
        let numbers = |n: usize| (0..n).map(|i| ((i * 37 % 101) as f32).sin()).collect::<Vec<_>>();
        let (a, b) = (numbers(29 * 50), numbers(50 * 117));
        let product = |arch: Arch| {
            let (mut packed, mut result) = (Packed::default(), vec![0.0; 29 * 117]);
            packed.pack_for(arch, Mat::new(&b, 50, 117));
            let left = Mat::new(&a, 29, 50);
            matmul_packed_on(arch, MatMut::new(&mut result, 29, 117), false, left, &packed, 0.7);
            result
        };
        let best = product(Arch::default());
        for arch in levels().into_iter().filter(|arch| !matches!(arch, Arch::Scalar)) {
            assert_eq!(product(arch), best);
        }
    }

    #[test]
    fn a_row_does_not_depend_on_the_rows_beside_it() {
        let numbers = |n: usize| (0..n).map(|i| ((i * 37 % 101) as f32).sin()).collect::<Vec<_>>();
        let (a, b) = (numbers(13 * 50), numbers(50 * 70));
        let packed = Packed::new(Mat::new(&b, 50, 70));
        let mut all = vec![0.0; 13 * 70];
        matmul_packed(MatMut::new(&mut all, 13, 70), false, Mat::new(&a, 13, 50), &packed, 1.0);
        for row in 0..13 {
            let mut alone = vec![0.0; 70];
            matmul_packed(MatMut::new(&mut alone, 1, 70), false, Mat::new(&a[row * 50..][..50], 1, 50), &packed, 1.0);
            assert_eq!(alone, all[row * 70..][..70]);
        }
    }
}
