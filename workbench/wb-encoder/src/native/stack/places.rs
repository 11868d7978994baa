//! Places of a transformer's weights among the parameters.

use std::collections::BTreeSet;

use crate::{
    error::Result,
    models::stack::{LinearSpec, NormKind, Stack},
    native::places::{Finder, LinearPlaces, NormPlaces},
    parameters::Parameters,
};

/// Places of all weights.
#[derive(Debug, Clone)]
pub struct StackPlaces {
    pub words: usize,
    pub positions: Option<usize>,
    pub token_types: Option<usize>,
    pub embedding_norm: Option<NormPlaces>,
    pub distances: Option<usize>,
    pub layers: Vec<LayerPlaces>,
    pub final_norm: Option<NormPlaces>,
}

/// Places of one layer's weights.
#[derive(Debug, Clone)]
pub struct LayerPlaces {
    pub attention_norm: Option<NormPlaces>,
    pub projections: Vec<LinearPlaces>,
    /// Norms of queries, and of keys.
    pub head_norms: Option<[usize; 2]>,
    pub attention_output: LinearPlaces,
    pub attention_update_norm: Option<NormPlaces>,
    pub feed_forward_norm: NormPlaces,
    pub inner: Vec<LinearPlaces>,
    pub output: LinearPlaces,
    pub feed_forward_update_norm: Option<NormPlaces>,
}

impl LayerPlaces {
    /// Query, key and value, which share their input.
    pub fn projections(&self) -> Vec<&LinearPlaces> {
        self.projections.iter().collect()
    }

    /// Gate and up, which share their input.
    pub fn inner(&self) -> Vec<&LinearPlaces> {
        self.inner.iter().collect()
    }

    /// All linear layers.
    pub fn linear(&self) -> impl Iterator<Item = &LinearPlaces> {
        self.projections.iter().chain(&self.inner).chain([&self.attention_output, &self.output])
    }

    /// Weights that are no linear layer's.
    pub fn others(&self) -> impl Iterator<Item = usize> {
        self.norms().flat_map(NormPlaces::all).chain(self.head_norms.into_iter().flatten())
    }

    /// Normalizations of the stream, and of what is added to it.
    fn norms(&self) -> impl Iterator<Item = &NormPlaces> {
        let of_updates = self.attention_update_norm.iter().chain(&self.feed_forward_update_norm);
        self.attention_norm.iter().chain([&self.feed_forward_norm]).chain(of_updates)
    }
}

impl StackPlaces {
    /// Weights of all normalizations, the heads' among them.
    pub fn norm_weights(&self) -> impl Iterator<Item = usize> {
        let norms = self.layers.iter().flat_map(LayerPlaces::norms).chain(&self.embedding_norm).chain(&self.final_norm);
        let heads = self.layers.iter().flat_map(|layer| layer.head_norms.into_iter().flatten());
        norms.map(|norm| norm.weight).chain(heads)
    }

    /// The weights of linear layers, and the table of token vectors: nearly all numbers of a model.
    pub fn large(&self) -> BTreeSet<usize> {
        let linear = self.layers.iter().flat_map(LayerPlaces::linear);
        linear.map(|linear| linear.weight).chain([self.words]).collect()
    }

    /// Finds every weight by name and checks its shape.
    pub fn find(stack: &Stack, parameters: &Parameters) -> Result<Self> {
        let find = Finder { parameters };
        let (width, heads) = (stack.width, stack.heads);
        let norm = |name: &String| find.norm(name, width, stack.norm == NormKind::Layer { shift: true });
        let linear = |spec: &LinearSpec| find.linear(spec);
        let all = |specs: &[LinearSpec]| specs.iter().map(linear).collect::<Result<Vec<_>>>();
        let layers = stack.layers.iter().map(|layer| {
            let head_norm = |name: &String| find.weight(&format!("{name}.weight"), &[heads.size]);
            let head_norms = match &layer.head_norms {
                Some([query, key]) => Some([head_norm(query)?, head_norm(key)?]),
                None => None,
            };
            Ok(LayerPlaces {
                attention_norm: layer.attention_norm.as_ref().map(norm).transpose()?,
                projections: all(&layer.projections)?,
                head_norms,
                attention_output: linear(&layer.attention_output)?,
                attention_update_norm: layer.attention_update_norm.as_ref().map(norm).transpose()?,
                feed_forward_norm: norm(&layer.feed_forward_norm)?,
                inner: all(&layer.inner)?,
                output: linear(&layer.output)?,
                feed_forward_update_norm: layer.feed_forward_update_norm.as_ref().map(norm).transpose()?,
            })
        });
        let table = |name: &str, rows| find.weight(name, &[rows, width]);
        Ok(Self {
            words: table(&stack.words, stack.vocab_size)?,
            positions: stack.positions.as_ref().map(|positions| table(&positions.name, positions.rows)).transpose()?,
            token_types: stack.token_types.as_ref().map(|(name, rows)| table(name, *rows)).transpose()?,
            embedding_norm: stack.embedding_norm.as_ref().map(norm).transpose()?,
            distances: stack
                .distances
                .as_ref()
                .map(|distances| find.weight(&distances.name, &[distances.buckets, heads.count]))
                .transpose()?,
            layers: layers.collect::<Result<_>>()?,
            final_norm: stack.final_norm.as_ref().map(norm).transpose()?,
        })
    }
}
