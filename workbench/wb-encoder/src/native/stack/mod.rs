//! A transformer on the CPU, as its description ([`Stack`]) says it.

mod backward;
mod forward;
mod norms;
mod packs;
mod places;
mod tape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rayon::prelude::*;

pub use self::{forward::StackScratch, tape::GroupTape};
use self::{packs::LayerPacks, places::StackPlaces};
use super::{
    attention::Heads, dora, dropout_mask::Mask, groups, linear::AdaptedWeights, places::NormPlaces, surface::TableRows,
};
use crate::{
    backbone::Dropout,
    batch::TokenBatch,
    dropout::{ATTENTION, SITES},
    error::Result,
    models::stack::{NormKind, NormOrder, Rotary, Stack},
    parameters::{Parameter, Parameters},
};

/// A transformer with its weights packed for the kernels.
pub struct NativeStack {
    stack: Stack,
    weights: AdaptedWeights,
    places: StackPlaces,
    packs: Vec<LayerPacks>,
    /// The ways in which layers turn queries and keys.
    turns: Vec<Rotary>,
    /// Place in `turns` of each layer's way.
    turn_of: Vec<Option<usize>>,
    /// Shift of normalizations that have none.
    zeros: Vec<f32>,
    /// Weights of normalizations by their places, where those kept are differences from one.
    from_one: BTreeMap<usize, Vec<f32>>,
}

impl NativeStack {
    /// Finds every weight by name and checks its shape. Weights of 16 bits stay that where most of them are: in linear
    /// layers and in the table of token vectors. What does not train is kept once, as the kernels read it.
    pub fn new(stack: Stack, mut weights: AdaptedWeights) -> Result<Self> {
        let places = StackPlaces::find(&stack, &weights.parameters)?;
        weights.parameters.widen(&places.large());
        pack_in_place(&places, &mut weights.parameters);
        refresh_dora(&places, &mut weights);
        let packs = places.layers.par_iter().map(|layer| LayerPacks::new(layer, &weights.parameters)).collect();
        let mut turns: Vec<Rotary> = Vec::new();
        let mut turn_of = Vec::new();
        for layer in &stack.layers {
            turn_of.push(layer.rotary.map(|rotary| {
                turns.iter().position(|known| *known == rotary).unwrap_or_else(|| {
                    turns.push(rotary);
                    turns.len() - 1
                })
            }));
        }
        let zeros = vec![0.0; stack.width];
        let from_one = from_one(&stack, &places, &weights.parameters);
        Ok(Self { stack, weights, places, packs, turns, turn_of, zeros, from_one })
    }

    /// Width of the token states.
    pub fn dim(&self) -> usize {
        self.stack.width
    }

    /// Refuses a batch that the network cannot take.
    pub fn check(&self, batch: &TokenBatch) -> Result<()> {
        let known = self.stack.token_types.as_ref().map_or(1, |(_, rows)| *rows);
        if let Some(one) = batch.types().iter().find(|one| **one as usize >= known) {
            let message = format!("token type {one}, the model knows {known}");
            return Err(wb_core::Error::data("a batch of pairs", message));
        }
        groups::check(batch, self.stack.vocab_size, self.stack.max_tokens.unwrap_or(usize::MAX))
    }

    /// The weights.
    pub fn weights(&self) -> &AdaptedWeights {
        &self.weights
    }

    /// The weights, to change; [`NativeStack::refresh`] follows.
    pub fn weights_mut(&mut self) -> &mut AdaptedWeights {
        &mut self.weights
    }

    /// Finds and packs weights again after a change.
    pub fn refresh(&mut self) -> Result<()> {
        let Self { stack, weights, places, packs, .. } = self;
        *places = StackPlaces::find(stack, &weights.parameters)?;
        weights.parameters.widen(&places.large());
        pack_in_place(places, &mut weights.parameters);
        refresh_dora(places, weights);
        let parameters = &weights.parameters;
        self.from_one = from_one(stack, places, parameters);
        packs.par_iter_mut().zip(&places.layers).for_each(|(packs, layer)| packs.refresh(layer, parameters));
        Ok(())
    }

    /// The tables whose gradients are added row by row, with the row of each token of a batch.
    pub fn table_rows(&self, batch: &TokenBatch) -> Vec<TableRows> {
        let words = batch.ids().iter().map(|id| *id as usize).collect();
        let mut rows = vec![TableRows { place: self.places.words, rows: words, factor: self.stack.word_scale as f32 }];
        if let (Some(place), Some(table)) = (self.places.positions, &self.stack.positions) {
            let positions = batch.texts().flat_map(|text| 0..text.len()).map(|place| place + table.first).collect();
            rows.push(TableRows { place, rows: positions, factor: 1.0 });
        }
        if let Some(place) = self.places.token_types {
            let of_type = |token: usize| batch.types().get(token).map_or(0, |one| *one as usize);
            rows.push(TableRows { place, rows: (0..batch.ids().len()).map(of_type).collect(), factor: 1.0 });
        }
        rows
    }

    fn tables(&self) -> impl Iterator<Item = usize> {
        [Some(self.places.words), self.places.positions, self.places.token_types].into_iter().flatten()
    }

    /// The normalization that a layer's attention reads the stream through, where there is one.
    fn norm_before(&self, layer: usize) -> Option<&NormPlaces> {
        self.places.layers[layer].attention_norm.as_ref().filter(|_| self.stack.order == NormOrder::Before)
    }

    /// Numbers that come into a token's feed-forward activation, with its gate.
    fn inner_width(&self) -> usize {
        self.stack.wide * if self.stack.gated { 2 } else { 1 }
    }

    fn heads(&self, layer: usize, dropout: Option<Dropout>) -> Heads {
        let mask = layer_mask(dropout, layer, ATTENTION, self.stack.dropout.attention);
        Heads { sizes: self.stack.heads, reach: self.stack.layers[layer].reach, mask }
    }
}

/// Packs the linear layers' weights of 16 bits, and those that do not train, in their own place, a layer's after the
/// other's.
fn pack_in_place(places: &StackPlaces, parameters: &mut Parameters) {
    for layer in &places.layers {
        let shapes: BTreeMap<usize, (usize, usize)> =
            layer.linear().map(|linear| (linear.weight, (linear.outputs, linear.inputs))).collect();
        let of_layer: Vec<(&mut Parameter, (usize, usize))> = parameters
            .iter_mut()
            .enumerate()
            .filter_map(|(place, parameter)| Some((parameter, *shapes.get(&place)?)))
            .collect();
        of_layer.into_par_iter().for_each(|(parameter, (outputs, inputs))| {
            parameter.values.pack(outputs, inputs, !parameter.trainable);
        });
    }
}

/// Follows a change of weights in the layers whose rows' lengths are learned.
fn refresh_dora(places: &StackPlaces, weights: &mut AdaptedWeights) {
    let AdaptedWeights { parameters, adapter, dora } = weights;
    let layers = places.layers.iter().flat_map(|layer| layer.linear());
    dora::refresh(dora, layers, parameters, adapter.as_ref());
}

/// Weights of all normalizations as they scale, where those kept are differences from one.
fn from_one(stack: &Stack, places: &StackPlaces, parameters: &Parameters) -> BTreeMap<usize, Vec<f32>> {
    if stack.norm != (NormKind::Rms { from_one: true }) {
        return BTreeMap::new();
    }
    let scales = |place: usize| parameters.at(place).values.floats().iter().map(|value| 1.0 + value).collect();
    places.norm_weights().map(|place| (place, scales(place))).collect()
}

/// Dropout at a place of a layer.
fn layer_mask(dropout: Option<Dropout>, layer: usize, place: u64, probability: f64) -> Option<Mask> {
    Mask::new(dropout, SITES * (layer as u64 + 1) + place, probability)
}
