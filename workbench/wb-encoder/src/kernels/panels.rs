//! Panels of a few vectors' width, in which the right side of a product lies.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

/// Panels of a matrix `[inner, columns]`, one after the other, each row by row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Panels {
    pub inner: usize,
    pub columns: usize,
    /// Vectors in a row of a panel.
    pub vectors: usize,
    /// Columns of a panel; those past the end are zeros.
    pub panel: usize,
}

impl Panels {
    pub fn new(arch: Arch, [inner, columns]: [usize; 2]) -> Self {
        Self::of_lanes(arch.dispatch(Lanes), [inner, columns])
    }

    /// Panels for vectors of so many numbers.
    pub fn of_lanes(lanes: usize, [inner, columns]: [usize; 2]) -> Self {
        let vectors = columns.div_ceil(lanes).clamp(1, widest_panel(lanes));
        Self { inner, columns, vectors, panel: vectors * lanes }
    }

    /// Numbers of all panels.
    pub fn len(&self) -> usize {
        self.inner * self.columns.div_ceil(self.panel) * self.panel
    }

    /// The matrix that fills them, transposed.
    pub fn columns<T: Copy + Default>(&self, packed: &[T]) -> Vec<T> {
        self.some_columns(packed, 0..self.columns)
    }

    /// Some of the columns of the matrix that fills them, one after the other.
    pub fn some_columns<T: Copy + Default>(&self, packed: &[T], wanted: Range<usize>) -> Vec<T> {
        let Self { inner, panel, .. } = *self;
        let mut all = vec![T::default(); inner * wanted.len()];
        if all.is_empty() {
            return all;
        }
        for at in wanted.start / panel..wanted.end.div_ceil(panel) {
            let of_panel = wanted.start.max(at * panel)..wanted.end.min((at + 1) * panel);
            let (first, begin) = (of_panel.start - at * panel, (of_panel.start - wanted.start) * inner);
            for (k, row) in packed[at * inner * panel..][..inner * panel].chunks_exact(panel).enumerate() {
                for (column, number) in row[first..][..of_panel.len()].iter().enumerate() {
                    all[begin + column * inner + k] = *number;
                }
            }
        }
        all
    }

    /// Fills them from a matrix of these strides.
    pub fn fill<T: Copy + Default>(&self, to: &mut [T], from: &[T], [row_stride, column_stride]: [usize; 2]) {
        let Self { inner, columns, panel, .. } = *self;
        if inner == 0 {
            return;
        }
        for (at, rows) in to.chunks_exact_mut(inner * panel).enumerate() {
            let width = panel.min(columns - at * panel);
            for (k, row) in rows.chunks_exact_mut(panel).enumerate() {
                let first = k * row_stride + at * panel * column_stride;
                let (taken, rest) = row.split_at_mut(width);
                if column_stride == 1 {
                    taken.copy_from_slice(&from[first..first + width]);
                } else {
                    for (column, x) in taken.iter_mut().enumerate() {
                        *x = from[first + column * column_stride];
                    }
                }
                rest.fill(T::default());
            }
        }
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
