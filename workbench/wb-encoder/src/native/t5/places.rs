//! Places of a T5 encoder's weights among the parameters, and the weights as the kernels read them.

use crate::{
    error::Result,
    models::T5Config,
    native::{
        packs::PackedLinear,
        places::{Finder, LinearPlaces},
    },
    parameters::Parameters,
};

/// Places of all weights.
#[derive(Debug, Clone)]
pub struct T5Places {
    pub words: usize,
    /// `[buckets, heads]`, for all layers.
    pub distances: usize,
    pub layers: Vec<T5LayerPlaces>,
    pub final_norm: usize,
}

/// Places of one layer's weights.
#[derive(Debug, Clone)]
pub struct T5LayerPlaces {
    pub attention_norm: usize,
    /// Query, key, value.
    pub projections: [LinearPlaces; 3],
    pub attention_output: LinearPlaces,
    pub feed_forward_norm: usize,
    /// The gate and what it lets through: wi_0, wi_1.
    pub inner: [LinearPlaces; 2],
    pub output: LinearPlaces,
}

impl T5LayerPlaces {
    /// All linear layers.
    pub fn linear(&self) -> impl Iterator<Item = &LinearPlaces> {
        self.projections.iter().chain(&self.inner).chain([&self.attention_output, &self.output])
    }
}

impl T5Places {
    /// Finds every weight by name and checks its shape.
    pub fn find(config: &T5Config, parameters: &Parameters) -> Result<Self> {
        let find = Finder { parameters };
        let (width, inner, wide) = (config.d_model, config.inner(), config.d_ff);
        let layers = (0..config.num_layers)
            .map(|layer| {
                let name = |part: &str| format!("encoder.block.{layer}.layer.{part}");
                let linear = |part: &str, inputs, outputs| find.linear(name(part), inputs, outputs, false);
                Ok(T5LayerPlaces {
                    attention_norm: find.weight(&name("0.layer_norm.weight"), &[width])?,
                    projections: [
                        linear("0.SelfAttention.q", width, inner)?,
                        linear("0.SelfAttention.k", width, inner)?,
                        linear("0.SelfAttention.v", width, inner)?,
                    ],
                    attention_output: linear("0.SelfAttention.o", inner, width)?,
                    feed_forward_norm: find.weight(&name("1.layer_norm.weight"), &[width])?,
                    inner: [
                        linear("1.DenseReluDense.wi_0", width, wide)?,
                        linear("1.DenseReluDense.wi_1", width, wide)?,
                    ],
                    output: linear("1.DenseReluDense.wo", wide, width)?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            words: find.weight("shared.weight", &[config.vocab_size, width])?,
            distances: find.weight(
                "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                &[config.relative_attention_num_buckets, config.num_heads],
            )?,
            layers,
            final_norm: find.weight("encoder.final_layer_norm.weight", &[width])?,
        })
    }
}

/// A layer's weights.
pub struct T5LayerPacks {
    /// Query, key and value as one.
    pub qkv: PackedLinear,
    pub attention_output: PackedLinear,
    /// wi_0 and wi_1 as one.
    pub inner: PackedLinear,
    pub output: PackedLinear,
}

impl T5LayerPacks {
    /// Packs a layer's weights.
    pub fn new(places: &T5LayerPlaces, parameters: &Parameters) -> Self {
        Self {
            qkv: PackedLinear::new(&places.projections.each_ref(), parameters),
            attention_output: PackedLinear::new(&[&places.attention_output], parameters),
            inner: PackedLinear::new(&places.inner.each_ref(), parameters),
            output: PackedLinear::new(&[&places.output], parameters),
        }
    }

    /// Packs again what has changed.
    pub fn refresh(&mut self, places: &T5LayerPlaces, parameters: &Parameters) {
        self.qkv.refresh(&places.projections.each_ref(), parameters);
        self.attention_output.refresh(&[&places.attention_output], parameters);
        self.inner.refresh(&places.inner.each_ref(), parameters);
        self.output.refresh(&[&places.output], parameters);
    }
}
