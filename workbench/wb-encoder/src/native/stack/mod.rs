//! A transformer on the CPU, as its description ([`Stack`]) says it.

mod backward;
mod forward;
mod norms;
mod packs;
mod pairs;
mod places;
mod tape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rayon::prelude::*;

pub use self::{forward::StackScratch, pairs::PairBackbone, tape::GroupTape};
use self::{packs::LayerPacks, places::StackPlaces};
use super::{
    attention::Heads, dropout_mask::Mask, groups, linear::AdaptedWeights, places::NormPlaces, surface::TableRows,
};
use crate::{
    backbone::Dropout,
    batch::TokenBatch,
    dropout::{ATTENTION, SITES},
    error::Result,
    models::stack::{NormKind, NormOrder, Rotary, Stack},
    parameters::Parameters,
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
    /// Finds every weight by name and checks its shape.
    pub fn new(stack: Stack, weights: AdaptedWeights) -> Result<Self> {
        let places = StackPlaces::find(&stack, &weights.parameters)?;
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
        let Self { stack, weights: AdaptedWeights { parameters, .. }, places, packs, .. } = self;
        *places = StackPlaces::find(stack, parameters)?;
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
            rows.push(TableRows { place, rows: vec![0; batch.ids().len()], factor: 1.0 });
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

/// Weights of all normalizations as they scale, where those kept are differences from one.
fn from_one(stack: &Stack, places: &StackPlaces, parameters: &Parameters) -> BTreeMap<usize, Vec<f32>> {
    if stack.norm != (NormKind::Rms { from_one: true }) {
        return BTreeMap::new();
    }
    let scales = |place: usize| parameters.at(place).values.iter().map(|value| 1.0 + value).collect();
    places.norm_weights().map(|place| (place, scales(place))).collect()
}

/// Dropout at a place of a layer.
fn layer_mask(dropout: Option<Dropout>, layer: usize, place: u64, probability: f64) -> Option<Mask> {
    Mask::new(dropout, SITES * (layer as u64 + 1) + place, probability)
}
