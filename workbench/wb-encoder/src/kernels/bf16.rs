//! Products of 16-bit brain floats, two of the inner dimension at once, summed in 32-bit floats.
//!
//! AVX512-BF16 does 32 of them in one instruction (VDPBF16PS) where 32-bit floats take two, and reads half the memory.
//! Both sides are rounded; the product of two brain floats is a 32-bit float exactly, so that what is lost is in the
//! rounding of the sides alone. Where a processor has no such instruction the same numbers are multiplied as 32-bit
//! floats, which is slower than [`super::Packed`]'s other kinds and tells what the rounding costs.
// `Mat`, `MatMut` and `Bf16Pairs` prove the bounds of the pointers that the inner loop goes by.
#![allow(unsafe_code, reason = "the inner loop loads by pointers, and the instruction is an intrinsic")]

use std::{borrow::Cow, cell::RefCell, ops::Range};

use super::{
    instructions::has_bf16_products,
    matmul::{Mat, MatMut},
    panels::Panels,
    short::{brain_to_float, float_to_brain},
    vector::{LANES, vectorized},
};

/// One cache line of pairs: the number of the even place in the lower half.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([u32; LANES]);

/// The right side of products `[inner, columns]`, in pairs of neighbors of the inner dimension.
#[derive(Debug, Clone, Default)]
pub struct Bf16Pairs {
    lines: Vec<Line>,
    /// Panels of pairs: their inner dimension is half, rounded up.
    panels: Panels,
    inner: usize,
}

impl Bf16Pairs {
    /// Packs the transpose of numbers `[outputs, inputs]`.
    pub fn new(bits: &[u16], outputs: usize, inputs: usize) -> Self {
        let half = inputs.div_ceil(2);
        let row = |row: &[u16]| row.chunks(2).map(|two| pair(two[0], two.get(1).copied().unwrap_or(0))).collect();
        let pairs: Vec<u32> = bits.chunks_exact(inputs.max(1)).flat_map(|bits| -> Vec<u32> { row(bits) }).collect();
        let panels = Panels::of_lanes(LANES, [half, outputs]);
        let mut packed = Self { lines: vec![Line::default(); panels.len() / LANES], panels, inner: inputs };
        panels.fill(pairs_mut(&mut packed.lines), &pairs, [1, half]);
        packed
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        size_of_val(self.lines.as_slice())
    }

    /// Some of the columns as they were packed, one after the other.
    pub fn some_columns(&self, wanted: Range<usize>) -> Vec<u16> {
        let pairs = self.panels.some_columns(self.pairs(), wanted);
        let column = |pairs: &[u32]| -> Vec<u16> {
            pairs.iter().flat_map(|pair| [*pair as u16, (pair >> 16) as u16]).take(self.inner).collect()
        };
        pairs.chunks_exact(self.panels.inner.max(1)).flat_map(column).collect()
    }

    fn pairs(&self) -> &[u32] {
        // SAFETY: a `Line` is as many pairs without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LANES) }
    }

    /// `result = scale · left · self`, added to what is there with `add`; the shapes are as for `matmul_packed`.
    pub fn multiply(&self, result: MatMut<'_>, add: bool, left: Mat<'_>, scale: f32) {
        self.multiply_by(has_bf16_products(), result, add, left, scale);
    }

    fn multiply_by(&self, instruction: bool, result: MatMut<'_>, add: bool, left: Mat<'_>, scale: f32) {
        thread_local! {
            static ROUNDED: RefCell<Vec<u32>> = RefCell::default();
        }
        ROUNDED.with_borrow_mut(|rounded| {
            vectorized!(round(left, rounded));
            let mut product = Product { result, add, left: rounded, right: self.pairs(), panels: self.panels, scale };
            #[cfg(target_arch = "x86_64")]
            if instruction {
                // SAFETY: the caller asked whether this processor has the instruction.
                return unsafe { product.run_by_instruction() };
            }
            let _ = instruction;
            vectorized!(product.run::<Floats>());
        });
    }
}

/// Pairs, one after the other.
fn pairs_mut(lines: &mut [Line]) -> &mut [u32] {
    // SAFETY: a `Line` is as many pairs without padding.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * LANES) }
}

#[inline(always)]
fn pair(even: u16, odd: u16) -> u32 {
    u32::from(even) | u32::from(odd) << 16
}

/// Rounds a matrix to pairs, row by row; a row of odd length ends with a zero.
#[inline(always)]
fn round(left: Mat<'_>, to: &mut Vec<u32>) {
    let half = left.columns.div_ceil(2);
    to.clear();
    to.resize(left.rows * half, 0);
    for (at, to) in to.chunks_exact_mut(half.max(1)).enumerate() {
        let first = at * left.row_stride;
        let row: Cow<'_, [f32]> = match left.column_stride {
            1 => left.data[first..first + left.columns].into(),
            stride => (0..left.columns).map(|column| left.data[first + column * stride]).collect(),
        };
        let twos = row.chunks_exact(2);
        if let [last] = twos.remainder() {
            to[half - 1] = pair(float_to_brain(*last), 0);
        }
        for (to, two) in to.iter_mut().zip(twos) {
            *to = pair(float_to_brain(two[0]), float_to_brain(two[1]));
        }
    }
}

/// Sixteen columns of a tile.
trait Unit {
    type Sums: Copy;
    type Right: Copy;
    type Left: Copy;

    /// # Safety
    /// The processor has the unit's instructions.
    unsafe fn zero() -> Self::Sums;
    /// # Safety
    /// As above, and `right` points to sixteen pairs.
    unsafe fn load(right: *const u32) -> Self::Right;
    /// # Safety
    /// As above.
    unsafe fn splat(left: u32) -> Self::Left;
    /// Adds the two products of the pair with those of each column, that of the odd place first.
    ///
    /// # Safety
    /// As above.
    unsafe fn add_products(sums: Self::Sums, left: Self::Left, right: Self::Right) -> Self::Sums;
    /// # Safety
    /// As above.
    unsafe fn floats(sums: Self::Sums) -> [f32; LANES];
}

/// The pairs' numbers as 32-bit floats, on any processor.
struct Floats;

impl Unit for Floats {
    type Sums = [f32; LANES];
    type Right = [u32; LANES];
    type Left = u32;

    #[inline(always)]
    unsafe fn zero() -> Self::Sums {
        [0.0; LANES]
    }

    #[inline(always)]
    unsafe fn load(right: *const u32) -> Self::Right {
        // SAFETY: `right` points to sixteen pairs.
        unsafe { right.cast::<Self::Right>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn splat(left: u32) -> u32 {
        left
    }

    #[inline(always)]
    unsafe fn add_products(mut sums: Self::Sums, left: u32, right: Self::Right) -> Self::Sums {
        let [even, odd] = halves(left);
        for (sum, right) in sums.iter_mut().zip(right) {
            let of_right = halves(right);
            *sum += odd * of_right[1];
            *sum += even * of_right[0];
        }
        sums
    }

    #[inline(always)]
    unsafe fn floats(sums: Self::Sums) -> [f32; LANES] {
        sums
    }
}

#[inline(always)]
fn halves(pair: u32) -> [f32; 2] {
    [brain_to_float(pair as u16), brain_to_float((pair >> 16) as u16)]
}

/// AVX512-BF16.
#[cfg(target_arch = "x86_64")]
struct Instruction;

#[cfg(target_arch = "x86_64")]
impl Unit for Instruction {
    type Sums = std::arch::x86_64::__m512;
    type Right = std::arch::x86_64::__m512bh;
    type Left = std::arch::x86_64::__m512bh;

    #[inline(always)]
    unsafe fn zero() -> Self::Sums {
        // SAFETY: the processor has AVX-512.
        unsafe { std::arch::x86_64::_mm512_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn load(right: *const u32) -> Self::Right {
        // SAFETY: `right` points to sixteen pairs, which are 32 brain floats.
        unsafe { std::mem::transmute(std::arch::x86_64::_mm512_loadu_si512(right.cast())) }
    }

    #[inline(always)]
    unsafe fn splat(left: u32) -> Self::Left {
        // SAFETY: the processor has AVX-512; sixteen times 32 bits are 32 brain floats.
        unsafe { std::mem::transmute(std::arch::x86_64::_mm512_set1_epi32(left.cast_signed())) }
    }

    #[inline(always)]
    unsafe fn add_products(sums: Self::Sums, left: Self::Left, right: Self::Right) -> Self::Sums {
        // SAFETY: the processor has AVX512-BF16.
        unsafe { std::arch::x86_64::_mm512_dpbf16_ps(sums, left, right) }
    }

    #[inline(always)]
    unsafe fn floats(sums: Self::Sums) -> [f32; LANES] {
        // SAFETY: a vector is sixteen floats.
        unsafe { std::mem::transmute(sums) }
    }
}

struct Product<'a> {
    result: MatMut<'a>,
    add: bool,
    /// Pairs, row by row.
    left: &'a [u32],
    right: &'a [u32],
    panels: Panels,
    scale: f32,
}

impl Product<'_> {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bf16")]
    fn run_by_instruction(&mut self) {
        self.run::<Instruction>();
    }

    #[inline(always)]
    fn run<U: Unit>(&mut self) {
        match self.panels.vectors {
            1 => self.all_tiles::<U, 1>(),
            2 => self.all_tiles::<U, 2>(),
            _ => self.all_tiles::<U, 3>(),
        }
    }

    #[inline(always)]
    fn all_tiles<U: Unit, const V: usize>(&mut self) {
        for panel in 0..self.panels.columns.div_ceil(self.panels.panel) {
            let mut row = 0;
            while row + 8 <= self.result.rows {
                self.tile::<U, 8, V>(panel, row);
                row += 8;
            }
            if row + 4 <= self.result.rows {
                self.tile::<U, 4, V>(panel, row);
                row += 4;
            }
            if row + 2 <= self.result.rows {
                self.tile::<U, 2, V>(panel, row);
                row += 2;
            }
            if row < self.result.rows {
                self.tile::<U, 1, V>(panel, row);
            }
        }
    }

    /// M rows and one panel's columns of the result.
    #[expect(
        clippy::needless_range_loop,
        reason = "counted loops over arrays of known size are what the compiler unrolls"
    )]
    #[inline(always)]
    fn tile<U: Unit, const M: usize, const V: usize>(&mut self, panel: usize, row: usize) {
        let Self { result, add, left, right, panels, scale } = self;
        let half = panels.inner;
        let of_rows = &left[row * half..(row + M) * half];
        let of_panel = &right[panel * half * V * LANES..][..half * V * LANES];
        // SAFETY: `run` was called for a unit that the processor has; both pointers stay in the slices above.
        let sums: [[[f32; LANES]; V]; M] = unsafe {
            let mut sums = [[U::zero(); V]; M];
            for k in 0..half {
                let y = of_panel.as_ptr().add(k * V * LANES);
                let mut of_right = [U::load(y); V];
                for v in 1..V {
                    of_right[v] = U::load(y.add(v * LANES));
                }
                for m in 0..M {
                    let of_left = U::splat(*of_rows.as_ptr().add(m * half + k));
                    for v in 0..V {
                        sums[m][v] = U::add_products(sums[m][v], of_left, of_right[v]);
                    }
                }
            }
            sums.map(|row| row.map(|sums| U::floats(sums)))
        };
        let first = panel * panels.panel;
        let width = panels.panel.min(panels.columns - first);
        for m in 0..M {
            let row = &mut result.data[(row + m) * result.row_stride + first..][..width];
            for (to, sums) in row.chunks_mut(LANES).zip(&sums[m]) {
                for (to, sum) in to.iter_mut().zip(sums) {
                    *to = if *add { *to + sum * *scale } else { sum * *scale };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn numbers(n: usize, from: usize) -> Vec<f32> {
        (0..n).map(|at| ((at * 37 + from) as f32 * 0.61).sin() * (1.0 + (at % 5) as f32)).collect()
    }

    /// Against sums of 64 bits over the rounded numbers.
    fn check(instruction: bool, [m, k, n]: [usize; 3], transposed: bool, add: bool) -> Result<(), TestCaseError> {
        let (x, w) = (numbers(m * k, 1), numbers(n * k, 5));
        let bits: Vec<u16> = w.iter().map(|w| float_to_brain(*w)).collect();
        let packed = Bf16Pairs::new(&bits, n, k);
        prop_assert_eq!(packed.some_columns(0..n), &bits[..]);
        let left = if transposed { Mat::new(&x, k, m).t() } else { Mat::new(&x, m, k) };
        // Rows of the result wider than the product: what stands beside it stays.
        let before = numbers(m * (n + 3), 9);
        let mut found = before.clone();
        packed.multiply_by(instruction, MatMut::strided(&mut found, m, n, n + 3), add, left, 0.5);
        for (at, (found, before)) in found.iter().zip(&before).enumerate() {
            let (i, j) = (at / (n + 3), at % (n + 3));
            if j >= n {
                prop_assert_eq!(found, before);
                continue;
            }
            let rounded = |x: f32| f64::from(brain_to_float(float_to_brain(x)));
            let of_left = |at: usize| if transposed { x[at * m + i] } else { x[i * k + at] };
            let terms = (0..k).map(|at| rounded(of_left(at)) * rounded(w[j * k + at]));
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size): (f64, f64), x| (sum + x, size + x.abs()));
            let expected = 0.5 * sum + if add { f64::from(*before) } else { 0.0 };
            prop_assert!((f64::from(*found) - expected).abs() <= 1e-6 * (1.0 + size), "{found} {expected} of {size}");
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn equals_the_product_of_the_rounded_numbers(
            m in 0usize..30, k in 0usize..40, n in 0usize..110, transposed: bool, add: bool
        ) {
            check(false, [m, k, n], transposed, add)?;
        }
    }

    #[test]
    fn the_instruction_computes_the_same() {
        if !has_bf16_products() {
            let name = "the_instruction_computes_the_same";
            let _ = writeln!(std::io::stderr(), "SKIPPED {name}: this processor has no AVX512-BF16");
            return;
        }
        for m in [1, 2, 5, 8, 23] {
            for (k, n) in [(1, 1), (2, 16), (7, 17), (64, 48), (65, 97), (384, 110), (0, 3)] {
                for (transposed, add) in [(false, false), (true, true)] {
                    check(true, [m, k, n], transposed, add).unwrap();
                }
            }
        }
    }

    /// Numbers by hand: 1 + 2⁻⁸ is halfway between 1 and its neighbor 1 + 2⁻⁷ and goes to the even one, 1; 3 · 1 + 5 · 2 + 7 · 4.
    #[test]
    fn numbers_are_rounded_and_summed_as_by_hand() {
        let weights = [3.0, 5.0, 7.0].map(float_to_brain);
        let mut result = [100.0];
        let x = [1.0 + 2f32.powi(-8), 2.0, 4.0];
        Bf16Pairs::new(&weights, 1, 3).multiply(MatMut::new(&mut result, 1, 1), true, Mat::new(&x, 1, 3), 2.0);
        assert_eq!(result, [182.0]);
    }
}
