//! Inner products of many vectors with many: exact search streams them through a sink, score matrices keep them all.

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array2, ArrayView2};
use pulp::Simd;
use rayon::prelude::*;

use crate::kernel::{BLOCK_BYTES, Machine, PANEL_REGISTERS, Panels, Sink};

/// Lets every block of rows meet all panels. Each worker takes the next block when it is done with one, so a worker
/// sees rows in ascending order; its sink is made by `sink` and returned.
pub(crate) fn sweep<K: Sink + Send>(
    machine: Machine,
    rows: &[f32],
    panels: &Panels,
    sink: impl Fn() -> K + Sync,
) -> Vec<K> {
    let dim = panels.dim();
    if dim == 0 {
        return Vec::new();
    }
    let n_rows = rows.len() / dim;
    let per_block = (BLOCK_BYTES / 4 / dim).clamp(1, n_rows.max(1)).next_multiple_of(machine.group);
    let n_blocks = n_rows.div_ceil(per_block);
    let workers = rayon::current_num_threads().clamp(1, n_blocks.max(1));
    let next = AtomicUsize::new(0);
    let work = |_| {
        let mut sink = sink();
        let mut block = Panels::empty(dim, machine.group);
        loop {
            let first_row = next.fetch_add(1, Ordering::Relaxed) * per_block;
            if first_row >= n_rows {
                return sink;
            }
            let end = (first_row + per_block).min(n_rows);
            block.fill(&rows[first_row * dim..end * dim]);
            machine.tiles(&block, first_row, panels, &mut sink);
        }
    };
    (0..workers).into_par_iter().with_max_len(1).map(work).collect()
}

/// The inner product of every row of one side with every row of the other, `[rows, columns]`.
///
/// # Panics
/// When the two sides have not the same number of dimensions.
pub fn inner_products(rows: ArrayView2<'_, f32>, columns: ArrayView2<'_, f32>) -> Array2<f32> {
    inner_products_on(Machine::here(), rows, columns)
}

fn inner_products_on(machine: Machine, rows: ArrayView2<'_, f32>, columns: ArrayView2<'_, f32>) -> Array2<f32> {
    assert_eq!(rows.ncols(), columns.ncols(), "dimensions of the two sides");
    let (n_rows, n_columns, dim) = (rows.nrows(), columns.nrows(), rows.ncols());
    let mut scores = Array2::zeros((n_rows, n_columns));
    let (rows, columns) = (rows.as_standard_layout(), columns.as_standard_layout());
    let (Some(rows), Some(columns), Some(all)) = (rows.as_slice(), columns.as_slice(), scores.as_slice_mut()) else {
        return scores;
    };
    if n_rows == 0 || n_columns == 0 || dim == 0 {
        return scores;
    }
    // A worker takes a stripe of rows and regroups the columns block by block; broad stripes regroup less often.
    let stripe = n_rows.div_ceil(rayon::current_num_threads()).clamp(1, 1024).next_multiple_of(machine.group);
    let at_once = (BLOCK_BYTES / 4 / dim).max(1).next_multiple_of(machine.panel);
    all.par_chunks_mut(stripe * n_columns).zip(rows.par_chunks(stripe * dim)).for_each(|(out, rows)| {
        let mut block = Panels::empty(dim, machine.group);
        block.fill(rows);
        let mut panels = Panels::empty(dim, machine.panel);
        for (index, columns) in columns.chunks(at_once * dim).enumerate() {
            panels.fill(columns);
            let n = columns.len() / dim;
            let mut sink = Matrix { out, n_columns, first: index * at_once, n };
            machine.tiles(&block, 0, &panels, &mut sink);
        }
    });
    scores
}

/// Writes tiles into a matrix.
pub(crate) struct Matrix<'a> {
    /// Rows of the matrix, one after the other.
    pub(crate) out: &'a mut [f32],
    /// Length of a row.
    pub(crate) n_columns: usize,
    /// The column of the first vector of the panels.
    pub(crate) first: usize,
    /// Number of vectors in the panels without padding.
    pub(crate) n: usize,
}

impl Sink for Matrix<'_> {
    #[inline(always)]
    fn take<S: Simd, const R: usize>(
        &mut self,
        simd: S,
        tile: &[[S::f32s; PANEL_REGISTERS]; R],
        row: usize,
        column: usize,
    ) {
        let n = (self.n - column).min(S::F32_LANES * PANEL_REGISTERS);
        for (sums, out) in tile.iter().zip(self.out[row * self.n_columns..].chunks_exact_mut(self.n_columns)) {
            let out = &mut out[self.first + column..][..n];
            // Plus zero, so that a sum that underflowed below zero equals one that is zero.
            for (sum, out) in sums.iter().zip(out.chunks_mut(S::F32_LANES)) {
                simd.partial_store_f32s(out, simd.add_f32s(*sum, simd.splat_f32s(0.0)));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use rand::RngExt;
    use wb_core::Seed;

    use super::*;

    /// Seeded numbers between -1 and 1.
    pub(crate) fn random(seed: u64, rows: usize, dim: usize) -> Array2<f32> {
        let mut rng = Seed(seed).stream("vectors");
        Array2::from_shape_fn((rows, dim), |_| rng.random_range(-1.0..1.0))
    }

    /// Every kind of registers that this machine can be asked for, down to single numbers.
    pub(crate) fn machines() -> Vec<Machine> {
        let mut machines = vec![Machine::here(), Machine::of(pulp::Arch::Scalar)];
        #[cfg(target_arch = "x86_64")]
        machines.extend(pulp::x86::V3::try_new().map(|simd| Machine::of(pulp::Arch::V3(simd))));
        machines
    }

    /// The definition: fused multiply-adds in order.
    pub(crate) fn naive(rows: &Array2<f32>, columns: &Array2<f32>) -> Array2<f32> {
        Array2::from_shape_fn((rows.nrows(), columns.nrows()), |(i, j)| {
            rows.row(i).iter().zip(columns.row(j)).fold(0f32, |sum, (a, b)| a.mul_add(*b, sum)) + 0.0
        })
    }

    #[test]
    fn the_value_is_right() {
        let rows = ndarray::array![[1.0, 2.0, 3.0]];
        let columns = ndarray::array![[4.0, 5.0, 6.0], [-1.0, 0.5, 0.0]];
        assert_eq!(inner_products(rows.view(), columns.view()), ndarray::array![[32.0, 0.0]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn every_shape_equals_the_definition_bit_by_bit(n in 0usize..70, m in 0usize..300, dim in 0usize..40, seed: u64) {
            let (rows, columns) = (random(seed, n, dim), random(seed ^ 1, m, dim));
            let expected = naive(&rows, &columns);
            for machine in machines() {
                prop_assert_eq!(&inner_products_on(machine, rows.view(), columns.view()), &expected);
            }
        }
    }

    #[test]
    fn many_blocks_equal_the_definition_bit_by_bit() {
        for (n, m, dim) in [(40, 700, 384), (13, 300, 1024), (1300, 40, 130)] {
            let (rows, columns) = (random(1, n, dim), random(2, m, dim));
            assert_eq!(inner_products(rows.view(), columns.view()), naive(&rows, &columns));
        }
    }
}
