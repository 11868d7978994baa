//! A layer's weights as the kernels read them.

use super::places::LayerPlaces;
use crate::{
    native::{packs::PackedLinear, places::LinearPlaces},
    parameters::Parameters,
};

/// A layer's weights.
pub struct LayerPacks {
    /// Query, key and value as one.
    pub projections: PackedLinear,
    /// Their biases side by side; empty where there are none.
    pub projection_bias: Vec<f32>,
    pub attention_output: PackedLinear,
    /// Gate and up as one.
    pub inner: PackedLinear,
    /// Their biases side by side; empty where there are none.
    pub inner_bias: Vec<f32>,
    pub output: PackedLinear,
}

impl LayerPacks {
    /// Packs a layer's weights.
    pub fn new(places: &LayerPlaces, parameters: &Parameters) -> Self {
        Self {
            projections: PackedLinear::new(&places.projections(), parameters),
            projection_bias: biases(&places.projections, parameters),
            attention_output: PackedLinear::new(&[&places.attention_output], parameters),
            inner: PackedLinear::new(&places.inner(), parameters),
            inner_bias: biases(&places.inner, parameters),
            output: PackedLinear::new(&[&places.output], parameters),
        }
    }

    /// Packs again what has changed.
    pub fn refresh(&mut self, places: &LayerPlaces, parameters: &Parameters) {
        self.projections.refresh(&places.projections(), parameters);
        self.projection_bias = biases(&places.projections, parameters);
        self.attention_output.refresh(&[&places.attention_output], parameters);
        self.inner.refresh(&places.inner(), parameters);
        self.inner_bias = biases(&places.inner, parameters);
        self.output.refresh(&[&places.output], parameters);
    }
}

fn biases(layers: &[LinearPlaces], parameters: &Parameters) -> Vec<f32> {
    let bias = |linear: &LinearPlaces| {
        linear.bias.map_or_else(Default::default, |place| parameters.at(place).values.floats().into_owned())
    };
    layers.iter().flat_map(bias).collect()
}
