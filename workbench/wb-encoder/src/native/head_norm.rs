//! Normalization of each head's query or key by its mean square (QK-norm).

use super::pool::sized;
use crate::{
    kernels::{
        normalize::Normalized,
        rms::{rms_backward, rms_normalize},
    },
    models::stack::HeadSizes,
};

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct HeadNormScratch {
    taken: Vec<f32>,
    normalized: Vec<f32>,
}

/// The queries, or the keys, in rows of all queries, keys and values of a token.
#[derive(Debug, Clone, Copy)]
pub struct HeadColumns {
    first: usize,
    columns: usize,
    width: usize,
}

impl HeadColumns {
    /// Queries and keys.
    pub fn both(heads: HeadSizes) -> [Self; 2] {
        let (queries, keys) = heads.widths();
        let width = queries + 2 * keys;
        let of = |first, columns| Self { first, columns, width };
        [of(0, queries), of(queries, keys)]
    }

    /// Each head of each row over its mean square, times the weight.
    pub fn normalize(
        self,
        rows: &mut [f32],
        weight: &[f32],
        epsilon: f32,
        keep: Option<&mut Normalized>,
        scratch: &mut HeadNormScratch,
    ) {
        let HeadNormScratch { taken, normalized } = scratch;
        let taken = self.take(rows, taken);
        let normalized = sized(normalized, taken.len());
        rms_normalize(normalized, taken, weight, epsilon, keep);
        self.put(rows, normalized);
    }

    /// From the gradient at the normalized heads to that at the heads, in place; the weight's is added to `wanted`.
    pub fn backward(
        self,
        rows: &mut [f32],
        weight: &[f32],
        kept: &Normalized,
        wanted: Option<&mut [f32]>,
        scratch: &mut HeadNormScratch,
    ) {
        let gradient = self.take(rows, &mut scratch.taken);
        rms_backward(gradient, kept, weight, wanted);
        self.put(rows, gradient);
    }

    fn take<'a>(self, rows: &[f32], taken: &'a mut Vec<f32>) -> &'a mut [f32] {
        taken.clear();
        for row in rows.chunks_exact(self.width) {
            taken.extend_from_slice(&row[self.first..][..self.columns]);
        }
        taken
    }

    fn put(self, rows: &mut [f32], taken: &[f32]) {
        for (row, taken) in rows.chunks_exact_mut(self.width).zip(taken.chunks_exact(self.columns)) {
            row[self.first..][..self.columns].copy_from_slice(taken);
        }
    }
}
