//! Weights of linear layers as the kernels read them: packed once, and again when they have changed.

use std::sync::OnceLock;

use super::places::LinearPlaces;
use crate::{
    kernels::{Mat, Packed, vector},
    parameters::Parameters,
};

/// One linear layer, or several of the same input as one, whose outputs stand side by side.
pub struct PackedLinear {
    /// For outputs out of inputs.
    pub forward: Packed,
    /// For gradients at inputs; packed when they are first wanted.
    backward: OnceLock<Packed>,
    checksum: u64,
}

impl PackedLinear {
    /// Packs weights.
    pub fn new(layers: &[&LinearPlaces], parameters: &Parameters) -> Self {
        let weight = beside(layers, parameters);
        let (outputs, inputs) = sizes(layers);
        Self {
            forward: Packed::new(Mat::new(&weight, outputs, inputs).t()),
            backward: OnceLock::new(),
            checksum: checksum(layers, parameters),
        }
    }

    /// Packs again if a weight is another than before; frozen layers stay as they are.
    pub fn refresh(&mut self, layers: &[&LinearPlaces], parameters: &Parameters) {
        if self.checksum != checksum(layers, parameters) {
            *self = Self::new(layers, parameters);
        }
    }

    /// The weights for the backward pass.
    pub fn backward(&self, layers: &[&LinearPlaces], parameters: &Parameters) -> &Packed {
        self.backward.get_or_init(|| {
            let (outputs, inputs) = sizes(layers);
            Packed::new(Mat::new(&beside(layers, parameters), outputs, inputs))
        })
    }
}

fn values(parameters: &Parameters, place: usize) -> &[f32] {
    &parameters.at(place).values
}

/// All outputs, and the inputs that the layers share.
fn sizes(layers: &[&LinearPlaces]) -> (usize, usize) {
    (layers.iter().map(|layer| layer.outputs).sum(), layers.first().map_or(0, |layer| layer.inputs))
}

/// The weights, one layer's outputs after the other's: `[all outputs, inputs]`.
fn beside(layers: &[&LinearPlaces], parameters: &Parameters) -> Vec<f32> {
    layers.iter().flat_map(|layer| values(parameters, layer.weight)).copied().collect()
}

/// Differs when one of the packed numbers does.
fn checksum(layers: &[&LinearPlaces], parameters: &Parameters) -> u64 {
    layers.iter().fold(0, |sum, layer| {
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(vector::checksum(values(parameters, layer.weight)))
    })
}
