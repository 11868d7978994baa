//! The kernel of inner products: groups of rows against panels of vectors, in machine registers.
//!
//! Both sides are regrouped so that the same dimension of neighboring vectors stands side by side. A panel of one side
//! fills registers, a group of rows of the other meets it number by number; the tile of their sums stays in registers
//! while all dimensions pass, and is handed on from there.
//!
//! Every inner product is one chain of fused multiply-adds over the dimensions in order, starting at +0. So a score
//! depends on its two vectors alone: not on blocks, threads, the side, the batch, nor on how wide the registers are.

use pulp::{Arch, Simd, WithSimd};
use wb_core::simd;

/// Bytes of one block of rows and of the panels that it meets, chosen so that both stay in a core's own cache.
pub(crate) const BLOCK_BYTES: usize = 320 << 10;
/// Numbers that a cache line holds.
const LINE: usize = 16;
/// Registers that hold a panel's column. Times the rows of a group it is the number of sums kept in a tile:
/// 2 × 12 in the 32 registers of AVX-512 and NEON, 2 × 6 in the 16 of AVX2.
pub(crate) const PANEL_REGISTERS: usize = 2;
const ROWS_WIDE: usize = 12;
const ROWS_NARROW: usize = 6;

/// Sizes of tiles, as this machine's registers make them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    arch: Arch,
    /// Vectors side by side in a panel.
    pub(crate) panel: usize,
    /// Rows side by side in a group.
    pub(crate) group: usize,
}

impl Machine {
    /// Takes the best instructions that this machine has.
    pub(crate) fn here() -> Self {
        Self::of(Arch::new())
    }

    pub(crate) fn of(arch: Arch) -> Self {
        struct Widths;
        impl WithSimd for Widths {
            type Output = (usize, usize);
            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) -> (usize, usize) {
                let group = if S::REGISTER_COUNT >= 32 { ROWS_WIDE } else { ROWS_NARROW };
                (S::F32_LANES * PANEL_REGISTERS, group)
            }
        }
        let (panel, group) = arch.dispatch(Widths);
        Self { arch, panel, group }
    }

    /// Fills in the inner products of one query with neighbouring vectors.
    pub(crate) fn group_scores(self, wanted: GroupScores<'_>) {
        self.arch.dispatch(wanted);
    }

    /// Hands every tile of some groups of rows and some panels to a sink. `first_row` is the position of the first row.
    pub(crate) fn tiles(self, rows: &Panels, first_row: usize, panels: &Panels, sink: &mut impl Sink) {
        self.arch.dispatch(Tiles { rows, first_row, panels, sink });
    }
}

/// A query and neighbouring vectors of panels, and the place for their inner products.
pub(crate) struct GroupScores<'a> {
    pub(crate) query: &'a [f32],
    pub(crate) panels: &'a Panels,
    /// The first vector, at the beginning of a panel.
    pub(crate) start: usize,
    pub(crate) scores: &'a mut [f32],
}

impl WithSimd for GroupScores<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { query, panels, start, scores } = self;
        for (panel, scores) in (start / panels.width..).zip(scores.chunks_mut(panels.width)) {
            let [sums] = tile::<S, 1>(simd, panels.panel(panel), query);
            for (sum, scores) in sums.iter().zip(scores.chunks_mut(S::F32_LANES)) {
                simd.partial_store_f32s(scores, simd.add_f32s(*sum, simd.splat_f32s(0.0)));
            }
        }
    }
}

/// The inner product of two vectors: the number that a tile has for them, bit by bit.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Dispatched, so that a machine's own fused multiply-add is used where it has one.
    simd::dispatched(
        Arch::new(),
        #[inline(always)]
        || a.iter().zip(b).fold(0f32, |sum, (a, b)| a.mul_add(*b, sum)) + 0.0,
    )
}

/// Vectors regrouped: `width` of them side by side, dimension after dimension; the last panel is filled up with zeros.
pub(crate) struct Panels {
    numbers: Vec<f32>,
    /// Place of the first number, so that a register's worth never crosses a cache line.
    start: usize,
    dim: usize,
    width: usize,
    n: usize,
}

impl Panels {
    /// Regroups vectors of `dim` numbers that lie one after the other.
    pub(crate) fn new(vectors: &[f32], dim: usize, width: usize) -> Self {
        let mut panels = Self::empty(dim, width);
        panels.fill(vectors);
        panels
    }

    /// Makes panels without vectors yet.
    pub(crate) fn empty(dim: usize, width: usize) -> Self {
        Self { numbers: Vec::new(), start: 0, dim, width, n: 0 }
    }

    /// Takes other vectors, in the same memory where it suffices.
    pub(crate) fn fill(&mut self, vectors: &[f32]) {
        let (dim, width) = (self.dim, self.width);
        self.n = vectors.len().checked_div(dim).unwrap_or(0);
        let needed = self.n.div_ceil(width) * width * dim;
        if self.numbers.len() < needed + LINE {
            self.numbers.resize(needed + LINE, 0.0);
            // An offset beyond a line would mean that the allocator cannot even align a number.
            self.start = self.numbers.as_ptr().align_offset(64).min(LINE);
        }
        let panels = self.numbers[self.start..self.start + needed].chunks_exact_mut((width * dim).max(1));
        for (panel, vectors) in panels.zip(vectors.chunks((width * dim).max(1))) {
            for (lane, vector) in vectors.chunks_exact(dim).enumerate() {
                for (column, number) in panel.chunks_exact_mut(width).zip(vector) {
                    column[lane] = *number;
                }
            }
            for lane in vectors.len() / dim..width {
                panel.chunks_exact_mut(width).for_each(|column| column[lane] = 0.0);
            }
        }
    }

    /// Number of panels.
    fn len(&self) -> usize {
        self.n.div_ceil(self.width)
    }

    /// Numbers in a vector.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Number of vectors, with those that fill up the last panel.
    pub(crate) fn padded(&self) -> usize {
        self.len() * self.width
    }

    #[inline(always)]
    fn panel(&self, index: usize) -> &[f32] {
        let size = self.width * self.dim;
        &self.numbers[self.start + index * size..][..size]
    }
}

/// A receiver of the scores of a tile.
pub(crate) trait Sink {
    /// The inner products of `R` rows from `row` on with the panel that begins at vector `column`.
    /// Rows and vectors beyond the last are padding.
    fn take<S: Simd, const R: usize>(
        &mut self,
        simd: S,
        tile: &[[S::f32s; PANEL_REGISTERS]; R],
        row: usize,
        column: usize,
    );
}

/// One group of `R` rows against one panel.
#[inline(always)]
fn tile<S: Simd, const R: usize>(simd: S, panel: &[f32], group: &[f32]) -> [[S::f32s; PANEL_REGISTERS]; R] {
    let columns = S::as_simd_f32s(panel).0.as_chunks::<PANEL_REGISTERS>().0;
    let mut sums = [[simd.splat_f32s(0.0); PANEL_REGISTERS]; R];
    for (column, numbers) in columns.iter().zip(group.as_chunks::<R>().0) {
        for (sums, number) in sums.iter_mut().zip(numbers) {
            let number = simd.splat_f32s(*number);
            for (sum, lanes) in sums.iter_mut().zip(column) {
                *sum = simd.mul_add_f32s(number, *lanes, *sum);
            }
        }
    }
    sums
}

/// All tiles of some groups of rows and some panels.
struct Tiles<'a, K> {
    rows: &'a Panels,
    /// The position of the first row.
    first_row: usize,
    panels: &'a Panels,
    sink: &'a mut K,
}

impl<K: Sink> Tiles<'_, K> {
    #[inline(always)]
    fn run<S: Simd, const R: usize>(self, simd: S) {
        let Self { rows, first_row, panels, sink } = self;
        let at_once = (BLOCK_BYTES / 4 / (panels.width * panels.dim).max(1)).max(1);
        for first_panel in (0..panels.len()).step_by(at_once) {
            for group in 0..rows.len() {
                for panel in first_panel..(first_panel + at_once).min(panels.len()) {
                    let tile = tile::<S, R>(simd, panels.panel(panel), rows.panel(group));
                    sink.take(simd, &tile, first_row + group * R, panel * panels.width);
                }
            }
        }
    }
}

impl<K: Sink> WithSimd for Tiles<'_, K> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::REGISTER_COUNT >= 32 { self.run::<S, ROWS_WIDE>(simd) } else { self.run::<S, ROWS_NARROW>(simd) }
    }
}
