//! A layer's weights as the kernels read them.

use super::places::BertLayerPlaces;
use crate::{
    native::{packs::PackedLinear, places::LinearPlaces},
    parameters::Parameters,
};

/// A layer's weights.
pub struct BertLayerPacks {
    /// Query, key and value as one.
    pub qkv: PackedLinear,
    pub qkv_bias: Vec<f32>,
    pub attention_output: PackedLinear,
    pub intermediate: PackedLinear,
    pub output: PackedLinear,
}

impl BertLayerPacks {
    /// Packs a layer's weights.
    pub fn new(places: &BertLayerPlaces, parameters: &Parameters) -> Self {
        let linear = |linear: &LinearPlaces| PackedLinear::new(&[linear], parameters);
        Self {
            qkv: PackedLinear::new(&places.qkv(), parameters),
            qkv_bias: qkv_bias(places, parameters),
            attention_output: linear(&places.attention_output),
            intermediate: linear(&places.intermediate),
            output: linear(&places.output),
        }
    }

    /// Packs again what has changed.
    pub fn refresh(&mut self, places: &BertLayerPlaces, parameters: &Parameters) {
        self.qkv.refresh(&places.qkv(), parameters);
        self.qkv_bias = qkv_bias(places, parameters);
        self.attention_output.refresh(&[&places.attention_output], parameters);
        self.intermediate.refresh(&[&places.intermediate], parameters);
        self.output.refresh(&[&places.output], parameters);
    }
}

fn qkv_bias(places: &BertLayerPlaces, parameters: &Parameters) -> Vec<f32> {
    let bias = |linear: &LinearPlaces| linear.bias.map_or(&[][..], |place| &parameters.at(place).values);
    places.projections.iter().flat_map(bias).copied().collect()
}
