//! Weights as the kernels read them: packed once, and again when they have changed.

use std::sync::OnceLock;

use super::places::{LayerPlaces, LinearPlaces};
use crate::{
    Parameters,
    kernels::{Mat, Packed, vector},
};

/// A layer's weights for the forward pass, and once they are needed for the backward pass.
pub struct LayerPacks {
    /// Query, key and value as one.
    pub qkv: Packed,
    pub qkv_bias: Vec<f32>,
    pub attention_output: Packed,
    pub intermediate: Packed,
    pub output: Packed,
    backward: OnceLock<BackwardPacks>,
    checksum: u64,
}

/// A layer's weights for gradients at inputs.
pub struct BackwardPacks {
    pub qkv: Packed,
    pub attention_output: Packed,
    pub intermediate: Packed,
    pub output: Packed,
}

impl LayerPacks {
    /// Packs a layer's weights.
    pub fn new(places: &LayerPlaces, parameters: &Parameters) -> Self {
        let linear = |l: &LinearPlaces| Packed::new(Mat::new(values(parameters, l.weight), l.outputs, l.inputs).t());
        let [q, k, v] = &places.projections;
        let qkv = concatenated(places, parameters);
        Self {
            qkv: Packed::new(Mat::new(&qkv, 3 * q.outputs, q.inputs).t()),
            qkv_bias: [q.bias, k.bias, v.bias].map(|place| values(parameters, place)).concat(),
            attention_output: linear(&places.attention_output),
            intermediate: linear(&places.intermediate),
            output: linear(&places.output),
            backward: OnceLock::new(),
            checksum: checksum(places, parameters),
        }
    }

    /// Packs again if a weight is another than before; frozen layers stay as they are.
    pub fn refresh(&mut self, places: &LayerPlaces, parameters: &Parameters) {
        if self.checksum != checksum(places, parameters) {
            *self = Self::new(places, parameters);
        }
    }

    /// The weights for the backward pass, packed at the first call.
    pub fn backward(&self, places: &LayerPlaces, parameters: &Parameters) -> &BackwardPacks {
        self.backward.get_or_init(|| {
            let linear = |l: &LinearPlaces| Packed::new(Mat::new(values(parameters, l.weight), l.outputs, l.inputs));
            let [q, ..] = &places.projections;
            BackwardPacks {
                qkv: Packed::new(Mat::new(&concatenated(places, parameters), 3 * q.outputs, q.inputs)),
                attention_output: linear(&places.attention_output),
                intermediate: linear(&places.intermediate),
                output: linear(&places.output),
            }
        })
    }
}

fn values(parameters: &Parameters, place: usize) -> &[f32] {
    &parameters.at(place).values
}

/// Query, key and value weights, `[3 · hidden, hidden]`.
fn concatenated(places: &LayerPlaces, parameters: &Parameters) -> Vec<f32> {
    let [q, k, v] = &places.projections;
    [q.weight, k.weight, v.weight].map(|place| values(parameters, place)).concat()
}

/// Differs when one of the packed numbers does.
fn checksum(places: &LayerPlaces, parameters: &Parameters) -> u64 {
    let [q, k, v] = &places.projections;
    let packed = [q.weight, q.bias, k.weight, k.bias, v.weight, v.bias];
    let packed =
        packed.into_iter().chain([&places.attention_output, &places.intermediate, &places.output].map(|l| l.weight));
    packed.fold(0, |sum, place| {
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(vector::checksum(values(parameters, place)))
    })
}
