//! Products with a right side that is packed once: the same weights multiply every group of every batch.
//!
//! A general matrix product packs both sides on every call, which costs a fifth of an encoder's time.
//! Here the right side lies in panels of a few vectors' width, the left side is read where it is,
//! and a tile of the result stays in registers over the whole inner dimension (Goto and van de Geijn 2008,
//! "Anatomy of High-Performance Matrix Multiplication", without its blocking of the inner dimension, which is short here).
//! Every element is summed in the order of the inner dimension, whatever else is in the product.
// `Mat`, `MatMut` and `Packed` prove the bounds of the pointers that the inner loop goes by.
#![allow(unsafe_code, reason = "the inner loop loads and stores by pointers; the bounds are checked before it")]

use std::{cell::RefCell, hint::black_box, ops::Range};

use pulp::{Arch, Simd, WithSimd};

use super::{
    bf16::Bf16Pairs,
    bytes::{self, Bytes},
    instructions::ARCH,
    matmul::{Mat, MatMut},
    panels::Panels,
    short::Short,
    vector::LANES,
};

/// One cache line, so that panels begin at one.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// The right side of products, `[inner, columns]`.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    numbers: Numbers,
    panels: Panels,
}

/// The panels' numbers.
#[derive(Debug, Clone)]
enum Numbers {
    Floats(Vec<Line>),
    /// Half the memory; a panel becomes floats when it is its turn, for all rows of a product.
    Short(Vec<u16>, Short),
    /// A quarter of it, and a scale for each column of the panels.
    Bytes(Bytes),
    /// 16-bit numbers that stay that: the left side is rounded to them too.
    Bf16(Bf16Pairs),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Floats(Vec::new())
    }
}

impl Packed {
    /// Packs a matrix of any strides.
    pub fn new(right: Mat<'_>) -> Self {
        let mut packed = Self::default();
        packed.pack(right);
        packed
    }

    /// Packs 16-bit numbers `[rows, columns]`, or their transpose.
    pub fn short(kind: Short, bits: &[u16], rows: usize, columns: usize, transposed: bool) -> Self {
        Self::short_for(*ARCH, kind, bits, [rows, columns], transposed)
    }

    fn short_for(arch: Arch, kind: Short, bits: &[u16], [rows, columns]: [usize; 2], transposed: bool) -> Self {
        let (shape, strides) = match transposed {
            false => ([rows, columns], [columns, 1]),
            true => ([columns, rows], [1, columns]),
        };
        let panels = Panels::new(arch, shape);
        let mut packed = vec![0; panels.len()];
        panels.fill(&mut packed, bits, strides);
        Self { numbers: Numbers::Short(packed, kind), panels }
    }

    /// Packs the transpose of rows of 8-bit numbers, whose scales become those of columns.
    pub fn bytes(rows: &Bytes) -> Self {
        Self::bytes_for(*ARCH, rows)
    }

    fn bytes_for(arch: Arch, rows: &Bytes) -> Self {
        let (columns, inner) = (rows.scales.len(), rows.width());
        let panels = Panels::new(arch, [inner, columns]);
        let mut numbers = vec![0; panels.len()];
        panels.fill(&mut numbers, &rows.numbers, [1, inner]);
        let mut scales = rows.scales.clone();
        scales.resize(columns.next_multiple_of(panels.panel), 0.0);
        Self { numbers: Numbers::Bytes(Bytes { numbers, scales }), panels }
    }

    /// Packs the transpose of brain floats `[outputs, inputs]`, to be multiplied as such.
    pub fn bf16(bits: &[u16], outputs: usize, inputs: usize) -> Self {
        let panels = Panels::of_lanes(LANES, [inputs, outputs]);
        Self { numbers: Numbers::Bf16(Bf16Pairs::new(bits, outputs, inputs)), panels }
    }

    /// Packs another matrix, keeping the memory.
    pub fn pack(&mut self, right: Mat<'_>) {
        self.pack_for(*ARCH, right);
    }

    fn pack_for(&mut self, arch: Arch, right: Mat<'_>) {
        self.panels = Panels::new(arch, [right.rows, right.columns]);
        let mut lines = match std::mem::take(&mut self.numbers) {
            Numbers::Floats(lines) => lines,
            Numbers::Short(..) | Numbers::Bytes(_) | Numbers::Bf16(_) => Vec::new(),
        };
        let len = self.panels.len();
        lines.resize(len.div_ceil(16), Line::default());
        self.panels.fill(&mut numbers_mut(&mut lines)[..len], right.data, [right.row_stride, right.column_stride]);
        self.numbers = Numbers::Floats(lines);
    }

    /// 16-bit numbers as they were packed, transposed: `[columns, inner]`; none where they are floats.
    pub fn columns_of_short(&self) -> Vec<u16> {
        match &self.numbers {
            Numbers::Floats(_) | Numbers::Bytes(_) => Vec::new(),
            Numbers::Short(packed, _) => self.panels.columns(packed),
            Numbers::Bf16(packed) => packed.some_columns(0..self.panels.columns),
        }
    }

    /// The numbers as they were packed, as floats, transposed: `[columns, inner]`.
    pub fn columns_of_floats(&self) -> Vec<f32> {
        self.some_columns_of_floats(0..self.panels.columns)
    }

    fn some_columns_of_floats(&self, columns: Range<usize>) -> Vec<f32> {
        match &self.numbers {
            Numbers::Floats(lines) => self.panels.some_columns(numbers(lines), columns),
            Numbers::Short(packed, kind) => kind.floats(&self.panels.some_columns(packed, columns)),
            Numbers::Bf16(packed) => Short::Bf16.floats(&packed.some_columns(columns)),
            Numbers::Bytes(packed) => {
                let scales = packed.scales[columns.clone()].to_vec();
                Bytes { numbers: self.panels.some_columns(&packed.numbers, columns), scales }.floats()
            }
        }
    }

    /// Writes as many numbers of the transpose, `[columns, inner]`, as `to` has, from the one at `first` on; no others
    /// are unpacked.
    pub fn copy_columns_to(&self, first: usize, to: &mut [f32]) {
        let inner = self.panels.inner.max(1);
        let columns = first / inner..(first + to.len()).div_ceil(inner);
        let before = first - columns.start * inner;
        to.copy_from_slice(&self.some_columns_of_floats(columns)[before..][..to.len()]);
    }

    /// Bytes of memory that the numbers take, with those that fill panels up.
    pub fn memory(&self) -> usize {
        match &self.numbers {
            Numbers::Floats(lines) => size_of_val(lines.as_slice()),
            Numbers::Short(packed, _) => 2 * packed.len(),
            Numbers::Bytes(packed) => packed.numbers.len() + 4 * packed.scales.len(),
            Numbers::Bf16(packed) => packed.memory(),
        }
    }

    /// The kind of 16-bit numbers that these are; none where they are floats.
    pub fn short_kind(&self) -> Option<Short> {
        match &self.numbers {
            Numbers::Floats(_) | Numbers::Bytes(_) => None,
            Numbers::Short(_, kind) => Some(*kind),
            Numbers::Bf16(_) => Some(Short::Bf16),
        }
    }

    /// True where a product rounds its left side to 16 bits too.
    pub fn rounds_left(&self) -> bool {
        matches!(self.numbers, Numbers::Bf16(_))
    }

    /// Numbers without those that fill panels up.
    pub fn count(&self) -> usize {
        self.panels.inner * self.panels.columns
    }
}

fn numbers(lines: &[Line]) -> &[f32] {
    // SAFETY: a `Line` is sixteen numbers without padding.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * 16) }
}

fn numbers_mut(lines: &mut [Line]) -> &mut [f32] {
    // SAFETY: a `Line` is sixteen numbers without padding.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * 16) }
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
        (left.rows, right.panels.columns, right.panels.inner),
        "[{}, {}] = [{}, {}] · [{}, {}]",
        result.rows,
        result.columns,
        left.rows,
        left.columns,
        right.panels.inner,
        right.panels.columns
    );
    if result.rows == 0 || result.columns == 0 {
        return;
    }
    thread_local! {
        static WIDENED: RefCell<Vec<Line>> = RefCell::default();
    }
    let Packed { numbers, panels } = right;
    match numbers {
        Numbers::Bf16(packed) => packed.multiply(result, add, left, scale),
        Numbers::Floats(_) => arch.dispatch(Product { result, add, left, numbers, panels, scale, widened: &mut [] }),
        Numbers::Short(..) | Numbers::Bytes(_) => WIDENED.with_borrow_mut(|widened| {
            widened.resize((panels.inner * panels.panel).div_ceil(16), Line::default());
            arch.dispatch(Product { result, add, left, numbers, panels, scale, widened });
        }),
    }
}

struct Product<'a> {
    result: MatMut<'a>,
    add: bool,
    left: Mat<'a>,
    numbers: &'a Numbers,
    panels: &'a Panels,
    scale: f32,
    /// A panel's numbers, where they are to be widened.
    widened: &'a mut [Line],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Rows of a tile: as many as leave registers for the panel's row, see `Panels`.
        match (S::F32_LANES == 8, self.panels.vectors) {
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
        let len = self.panels.inner * self.panels.panel;
        for panel in 0..self.panels.columns.div_ceil(self.panels.panel) {
            let right: *const f32 = match self.numbers {
                Numbers::Floats(lines) => lines.as_ptr().cast::<f32>().wrapping_add(panel * len),
                Numbers::Short(bits, kind) => {
                    let widened = numbers_mut(self.widened);
                    kind.widen(&bits[panel * len..][..len], &mut widened[..len]);
                    widened.as_ptr()
                }
                Numbers::Bf16(_) => unreachable!("multiplied on their own"),
                Numbers::Bytes(packed) => {
                    let widened = numbers_mut(self.widened);
                    let scales = &packed.scales[panel * self.panels.panel..][..self.panels.panel];
                    bytes::widen_columns(&packed.numbers[panel * len..][..len], scales, &mut widened[..len]);
                    widened.as_ptr()
                }
            };
            let mut row = 0;
            while row + M <= self.result.rows {
                self.tile::<S, M, V>(simd, panel, right, row);
                row += M;
            }
            if M > 4 && row + 4 <= self.result.rows {
                self.tile::<S, 4, V>(simd, panel, right, row);
                row += 4;
            }
            if row + 2 <= self.result.rows {
                self.tile::<S, 2, V>(simd, panel, right, row);
                row += 2;
            }
            if row < self.result.rows {
                self.tile::<S, 1, V>(simd, panel, right, row);
            }
        }
    }

    /// M rows and one panel's columns of the result; `right` points to the panel's floats.
    #[expect(
        clippy::needless_range_loop,
        reason = "counted loops over arrays of known size are what the compiler unrolls"
    )]
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const V: usize>(&mut self, simd: S, panel: usize, right: *const f32, row: usize) {
        let Self { result, add, left, panels, scale, .. } = self;
        let (inner, lanes) = (panels.inner, S::F32_LANES);
        let zero = simd.splat_f32s(0.0);
        let mut sums = [[zero; V]; M];
        // SAFETY: `row + M` is at most the rows of `left` and `result`, and `panel` one of the panels, to whose first
        // number `right` points; `check` proved that those rows lie in their slices, and a panel is `inner · panel`
        // numbers long.
        unsafe {
            // A pointer for each row, hidden from the compiler: it would make one out of the other, and the chain of
            // additions takes as long as the products.
            let x = left.data.as_ptr().wrapping_add(row * left.row_stride);
            let rows: [*const f32; M] = std::array::from_fn(|m| black_box(x.wrapping_add(m * left.row_stride)));
            let mut y = right;
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
        let first = panel * panels.panel;
        let width = panels.panel.min(panels.columns - first);
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

    /// Products of the same bits as of floats, and the numbers come back as they were.
    #[test]
    fn bytes_are_multiplied_as_their_floats() {
        let x: Vec<f32> = (0..29 * 50).map(|i| ((i * 37 % 101) as f32).sin()).collect();
        for columns in [3, 50, 117] {
            let weights: Vec<f32> = (0..columns * 50).map(|i| ((i * 31 % 211) as f32).cos() * (i % 7) as f32).collect();
            let bytes = Bytes::of(&weights, 50);
            for arch in levels() {
                let mut expected = Packed::default();
                expected.pack_for(arch, Mat::new(&bytes.floats(), columns, 50).t());
                let packed = Packed::bytes_for(arch, &bytes);
                assert_eq!(packed.columns_of_floats(), bytes.floats());
                let product = |right: &Packed| {
                    let mut result = vec![1.0; 29 * columns];
                    let into = MatMut::new(&mut result, 29, columns);
                    matmul_packed_on(arch, into, true, Mat::new(&x, 29, 50), right, 0.5);
                    result
                };
                assert_eq!(product(&packed), product(&expected));
            }
        }
    }

    /// Products of the same bits as of floats, whatever is beside a row; and the numbers come back as they were.
    #[test]
    fn short_numbers_are_multiplied_as_their_floats() {
        let x: Vec<f32> = (0..29 * 50).map(|i| ((i * 37 % 101) as f32).sin()).collect();
        for kind in [Short::F16, Short::Bf16] {
            let bits: Vec<u16> =
                (0..50 * 117).map(|i: u32| (0x3000 + i * 7 % 0x0c00) as u16 | (i as u16 & 1) << 15).collect();
            let floats: Vec<f32> = bits.iter().map(|bits| kind.to_float(*bits)).collect();
            for arch in levels() {
                for transposed in [false, true] {
                    let (inner, columns) = if transposed { (117, 50) } else { (50, 117) };
                    let matrix = Mat::new(&floats, 50, 117);
                    let mut expected = Packed::default();
                    expected.pack_for(arch, if transposed { matrix.t() } else { matrix });
                    let packed = Packed::short_for(arch, kind, &bits, [50, 117], transposed);
                    if transposed {
                        assert_eq!(packed.columns_of_short(), bits);
                    }
                    for rows in [1, 7, 12] {
                        let product = |right: &Packed| {
                            let mut result = vec![1.0; rows * columns];
                            let left = Mat::new(&x[..rows * inner], rows, inner);
                            matmul_packed_on(arch, MatMut::new(&mut result, rows, columns), true, left, right, 0.7);
                            result
                        };
                        assert_eq!(product(&packed), product(&expected), "{kind:?} {transposed} {rows}");
                    }
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
