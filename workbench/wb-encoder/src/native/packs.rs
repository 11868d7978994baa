//! Weights of linear layers as the kernels read them: packed once, and again when they have changed.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::{
    places::LinearPlaces,
    sharing::{ROWS, may_share},
};
use crate::{
    kernels::{Mat, MatMut, Packed, Short, matmul_packed, vector},
    parameters::Parameters,
};

/// One linear layer, or several of the same input as one, whose outputs stand side by side.
pub struct PackedLinear {
    inputs: usize,
    outputs: usize,
    /// Weights for outputs out of inputs.
    forward: Forward,
    /// Weights for gradients at inputs; packed when they are first wanted.
    backward: OnceLock<Packed>,
}

/// Weights for outputs out of inputs.
enum Forward {
    /// Floats of all layers as one, and what tells them from others.
    Copied(Packed, u64),
    /// Numbers of each layer, which its parameter itself keeps so, and its outputs.
    Shared(Vec<(Arc<Packed>, usize)>),
}

impl PackedLinear {
    /// Packs weights.
    pub fn new(layers: &[&LinearPlaces], parameters: &Parameters) -> Self {
        let (outputs, inputs) = sizes(layers);
        let forward = shared(layers, parameters).map_or_else(
            || {
                let weight = beside(layers, parameters);
                let packed = Packed::new(Mat::new(&weight, outputs, inputs).t());
                Forward::Copied(packed, checksum(layers, parameters))
            },
            Forward::Shared,
        );
        Self { inputs, outputs, forward, backward: OnceLock::new() }
    }

    /// Packs again if a weight is another than before; frozen layers stay as they are.
    pub fn refresh(&mut self, layers: &[&LinearPlaces], parameters: &Parameters) {
        let is_same = match (&self.forward, shared(layers, parameters)) {
            (Forward::Copied(_, before), None) => *before == checksum(layers, parameters),
            (Forward::Shared(before), Some(now)) => {
                before.iter().zip(&now).all(|((before, _), (now, _))| Arc::ptr_eq(before, now))
            }
            _ => false,
        };
        if !is_same {
            *self = Self::new(layers, parameters);
        }
    }

    /// Writes the outputs for `rows` inputs to `y`, or adds them to what is there.
    pub fn forward(&self, rows: usize, x: &[f32], y: &mut [f32], add: bool) {
        by_rows(rows, (x, self.inputs), (y, self.outputs), |rows, x, y| match &self.forward {
            Forward::Copied(packed, _) => {
                matmul_packed(MatMut::new(y, rows, self.outputs), add, Mat::new(x, rows, self.inputs), packed, 1.0);
            }
            Forward::Shared(parts) => {
                let mut first = 0;
                for (packed, outputs) in parts.iter().filter(|_| rows > 0) {
                    let y = MatMut::strided(&mut y[first..], rows, *outputs, self.outputs);
                    matmul_packed(y, add, Mat::new(x, rows, self.inputs), packed, 1.0);
                    first += outputs;
                }
            }
        });
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
        let pack = || match &self.forward {
            Forward::Shared(parts) if let Some(kind) = short_kind(parts) => {
                let bits: Vec<u16> = parts.iter().flat_map(|(packed, _)| packed.columns_of_short()).collect();
                Packed::short(kind, &bits, self.outputs, self.inputs, false)
            }
            _ => Packed::new(Mat::new(&beside(layers, parameters), self.outputs, self.inputs)),
        };
        let packed = self.backward.get_or_init(pack);
        by_rows(rows, (dy, self.outputs), (dx, self.inputs), |rows, dy, dx| {
            matmul_packed(MatMut::new(dx, rows, self.inputs), add, Mat::new(dy, rows, self.outputs), packed, 1.0);
        });
    }
}

/// Does a product of so many rows, which are given with their width as they come in and go out: as a whole, or by
/// [`ROWS`] where they are many and may be shared. Each row's result is its own, so that this changes no bit.
fn by_rows(
    rows: usize,
    (x, inputs): (&[f32], usize),
    (y, outputs): (&mut [f32], usize),
    product: impl Fn(usize, &[f32], &mut [f32]) + Sync,
) {
    if rows < 2 * ROWS || inputs * outputs == 0 || !may_share() {
        return product(rows, x, y);
    }
    let pieces = x[..rows * inputs].par_chunks(ROWS * inputs).zip(y[..rows * outputs].par_chunks_mut(ROWS * outputs));
    pieces.for_each(|(x, y)| product(x.len() / inputs, x, y));
}

/// The layers' numbers as each parameter keeps them packed; none where one does not.
fn shared(layers: &[&LinearPlaces], parameters: &Parameters) -> Option<Vec<(Arc<Packed>, usize)>> {
    layers.iter().map(|layer| Some((parameters.at(layer.weight).values.packed()?, layer.outputs))).collect()
}

/// The kind of all these numbers, where they have 16 bits and are of one kind.
fn short_kind(parts: &[(Arc<Packed>, usize)]) -> Option<Short> {
    let kind = parts.first()?.0.short_kind()?;
    parts.iter().all(|(packed, _)| packed.short_kind() == Some(kind)).then_some(kind)
}

/// All outputs, and the inputs that the layers share.
fn sizes(layers: &[&LinearPlaces]) -> (usize, usize) {
    (layers.iter().map(|layer| layer.outputs).sum(), layers.first().map_or(0, |layer| layer.inputs))
}

/// The weights, one layer's outputs after the other's: `[all outputs, inputs]`.
fn beside(layers: &[&LinearPlaces], parameters: &Parameters) -> Vec<f32> {
    layers.iter().flat_map(|layer| parameters.at(layer.weight).values.floats().into_owned()).collect()
}

/// Differs when one of the packed numbers does.
fn checksum(layers: &[&LinearPlaces], parameters: &Parameters) -> u64 {
    layers.iter().fold(0, |sum, layer| {
        let values = parameters.at(layer.weight).values.floats();
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(vector::checksum(&values))
    })
}
