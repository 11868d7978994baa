//! Panels of a few vectors' width, in which the right side of a product lies.

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
        let lanes = arch.dispatch(Lanes);
        let vectors = columns.div_ceil(lanes).clamp(1, widest_panel(lanes));
        Self { inner, columns, vectors, panel: vectors * lanes }
    }

    /// Numbers of all panels.
    pub fn len(&self) -> usize {
        self.inner * self.columns.div_ceil(self.panel) * self.panel
    }

    /// The matrix that fills them, transposed.
    pub fn columns<T: Copy + Default>(&self, packed: &[T]) -> Vec<T> {
        let Self { inner, columns, panel, .. } = *self;
        let mut all = vec![T::default(); inner * columns];
        for (at, rows) in packed.chunks_exact((inner * panel).max(1)).enumerate() {
            for (k, row) in rows.chunks_exact(panel).enumerate() {
                for (column, number) in row.iter().take(columns - at * panel).enumerate() {
                    all[(at * panel + column) * inner + k] = *number;
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
