//! DoRA's part of linear layers (Liu et al. 2024, arXiv 2402.09353): lengths of rows, and products with the weight alone.

use std::{collections::BTreeMap, fmt};

use rayon::prelude::*;

use super::{packs::PackedLinear, places::LinearPlaces};
use crate::{
    kernels::{Mat, MatMut, matmul},
    lora::{Adapter, SHORTEST_ROW, row_length},
    parameters::Parameters,
};

/// Rows whose lengths a thread computes at a time.
const ROWS: usize = 64;

/// A linear layer whose rows have lengths that are learned.
///
/// The weight is packed for this layer alone, since others of the same input are packed as one. Its numbers are those
/// of its parameter where that keeps them packed; the pack for gradients at inputs is a copy.
pub struct DoraLayer {
    /// n = ‖W + s·B·A‖ of each row, `[out]`, as the weights are now.
    pub lengths: Vec<f32>,
    pub weight: PackedLinear,
}

impl fmt::Debug for DoraLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DoraLayer").field("lengths", &self.lengths).finish_non_exhaustive()
    }
}

/// Layers with magnitudes, by the place of their weight.
pub type DoraLayers = BTreeMap<usize, DoraLayer>;

/// Computes all lengths anew, and packs what is not packed or has changed.
pub fn refresh<'a>(
    before: &mut DoraLayers,
    layers: impl Iterator<Item = &'a LinearPlaces>,
    parameters: &Parameters,
    adapter: Option<&Adapter>,
) {
    let mut old = std::mem::take(before);
    let Some(adapter) = adapter else { return };
    for linear in layers.filter(|linear| linear.magnitude.is_some()) {
        let weight = match old.remove(&linear.weight) {
            Some(DoraLayer { mut weight, .. }) => {
                weight.refresh(&[linear], parameters);
                weight
            }
            None => PackedLinear::new(&[linear], parameters),
        };
        let lengths = lengths(linear, parameters, adapter.scale_of(&linear.name));
        before.insert(linear.weight, DoraLayer { lengths, weight });
    }
}

/// ‖W + s·B·A‖ of each row, `[out]`.
fn lengths(linear: &LinearPlaces, parameters: &Parameters, scale: f32) -> Vec<f32> {
    let mut lengths = vec![0.0; linear.outputs];
    let Some((a, b)) = linear.adapter else { return lengths };
    let (rank, inputs) = (parameters.at(a).shape[0], linear.inputs);
    let weight = &parameters.at(linear.weight).values;
    let (a, b) = (parameters.floats(a), parameters.floats(b));
    let pieces = lengths.par_chunks_mut(ROWS).zip(b.par_chunks(ROWS * rank)).enumerate();
    pieces.for_each(|(at, (lengths, b))| {
        let rows = lengths.len();
        let mut whole = vec![0.0; rows * inputs];
        weight.copy_to(at * ROWS * inputs, &mut whole);
        let sum = MatMut::new(&mut whole, rows, inputs);
        matmul(sum, true, Mat::new(b, rows, rank), Mat::new(a, rank, inputs), scale);
        for (length, row) in lengths.iter_mut().zip(whole.chunks_exact(inputs)) {
            *length = (row_length(row) as f32).max(SHORTEST_ROW);
        }
    });
    lengths
}
