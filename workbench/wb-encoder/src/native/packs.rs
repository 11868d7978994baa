//! Weights of linear layers as the kernels read them: packed once, and again when they have changed.

use std::sync::OnceLock;

use super::places::LinearPlaces;
use crate::{
    kernels::{Mat, MatMut, Packed, matmul_packed, vector},
    parameters::Parameters,
};

/// One linear layer, or several of the same input as one, whose outputs stand side by side.
pub struct PackedLinear {
    inputs: usize,
    outputs: usize,
    /// Weights for outputs out of inputs.
    forward: Packed,
    /// Weights for gradients at inputs; packed when they are first wanted.
    backward: OnceLock<Packed>,
    checksum: u64,
}

impl PackedLinear {
    /// Packs weights.
    pub fn new(layers: &[&LinearPlaces], parameters: &Parameters) -> Self {
        let weight = beside(layers, parameters);
        let (outputs, inputs) = sizes(layers);
        Self {
            inputs,
            outputs,
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

    /// Writes the outputs for `rows` inputs to `y`, or adds them to what is there.
    pub fn forward(&self, rows: usize, x: &[f32], y: &mut [f32], add: bool) {
        let (y, x) = (MatMut::new(y, rows, self.outputs), Mat::new(x, rows, self.inputs));
        matmul_packed(y, add, x, &self.forward, 1.0);
    }

    /// Writes the gradient at `rows` inputs to `dx`, or adds it to what is there, out of the gradient at the outputs.
    /// `layers` are those that were packed.
    pub fn backward(
        &self,
        layers: &[&LinearPlaces],
        parameters: &Parameters,
        rows: usize,
        dy: &[f32],
        dx: &mut [f32],
        add: bool,
    ) {
        let pack = || Packed::new(Mat::new(&beside(layers, parameters), self.outputs, self.inputs));
        let (dx, dy) = (MatMut::new(dx, rows, self.inputs), Mat::new(dy, rows, self.outputs));
        matmul_packed(dx, add, dy, self.backward.get_or_init(pack), 1.0);
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
