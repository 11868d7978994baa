//! Normalizations of the stream, of either kind.

use super::NativeStack;
use crate::{
    kernels::{
        normalize::{Normalized, add_and_normalize, normalize_backward, restore},
        rms::{rms_backward, rms_normalize, rms_restore},
        vector::{add_scaled, vectorized},
    },
    models::stack::NormKind,
    native::{lane::Lane, places::NormPlaces, pool::sized},
};

impl NativeStack {
    /// The normalized stream into `unit`.
    pub(super) fn normalize(
        &self,
        unit: &mut [f32],
        stream: &[f32],
        places: &NormPlaces,
        keep: Option<&mut Normalized>,
    ) {
        match self.stack.norm {
            NormKind::Rms { .. } => rms_normalize(unit, stream, self.norm_weight(places.weight), self.epsilon(), keep),
            NormKind::Layer { .. } => {
                unit.copy_from_slice(stream);
                self.add_and_normalize(unit, &[], &[], places, keep, &mut Vec::new());
            }
        }
    }

    /// `stream = norm(stream + update + bias)`; `update` and `bias` may be left out as an empty slice.
    pub(super) fn add_and_normalize(
        &self,
        stream: &mut [f32],
        update: &[f32],
        bias: &[f32],
        places: &NormPlaces,
        keep: Option<&mut Normalized>,
        buffer: &mut Vec<f32>,
    ) {
        match self.stack.norm {
            NormKind::Layer { .. } => {
                let (weight, shift) = (self.weights.values(places.weight), self.shift(places));
                add_and_normalize(stream, update, bias, weight, shift, self.epsilon(), keep);
            }
            NormKind::Rms { .. } => {
                add(stream, update, bias);
                let before = sized(buffer, stream.len());
                before.copy_from_slice(stream);
                self.normalize(stream, before, places, keep);
            }
        }
    }

    /// The normalized stream again, from what was kept.
    pub(super) fn restore(&self, output: &mut [f32], kept: &Normalized, places: &NormPlaces) {
        let weight = self.norm_weight(places.weight);
        match self.stack.norm {
            NormKind::Rms { .. } => rms_restore(output, kept, weight),
            NormKind::Layer { .. } => restore(output, kept, weight, self.shift(places)),
        }
    }

    /// From the gradient at a normalization's output to that at its input, in place.
    pub(super) fn normalize_backward(&self, g: &mut [f32], kept: &Normalized, places: &NormPlaces, lane: &mut Lane) {
        let weight = self.norm_weight(places.weight);
        match self.stack.norm {
            NormKind::Rms { .. } => rms_backward(g, kept, weight, lane.wanted(places.weight)),
            NormKind::Layer { .. } => normalize_backward(g, kept, weight, lane.wanted_norm(places)),
        }
    }

    /// The weight of a normalization, as it scales.
    pub(super) fn norm_weight(&self, place: usize) -> &[f32] {
        self.from_one.get(&place).map_or_else(|| self.weights.values(place), Vec::as_slice)
    }

    fn shift(&self, places: &NormPlaces) -> &[f32] {
        places.shift.map_or(&self.zeros, |place| self.weights.values(place))
    }

    fn epsilon(&self) -> f32 {
        self.stack.epsilon as f32
    }
}

/// `x += y + bias`; either may be left out as an empty slice.
pub(super) fn add(x: &mut [f32], y: &[f32], bias: &[f32]) {
    vectorized!(add_scaled(x, 1.0, y));
    if !bias.is_empty() {
        for row in x.chunks_exact_mut(bias.len()) {
            vectorized!(add_scaled(row, 1.0, bias));
        }
    }
}
