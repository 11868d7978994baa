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
    models::stack::{NormOrder, Rotary, Stack},
};

/// A transformer with its weights packed for the kernels.
pub struct NativeStack {
    stack: Stack,
    weights: AdaptedWeights,
    places: StackPlaces,
    packs: Vec<LayerPacks>,
    /// The ways in which layers turn queries and keys.
    turns: Vec<Rotary>,
    /// Of each layer, which of them it is.
    turn_of: Vec<Option<usize>>,
    /// What normalizations add that have nothing to add.
    zeros: Vec<f32>,
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
        Ok(Self { stack, weights, places, packs, turns, turn_of, zeros })
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
        packs.par_iter_mut().zip(&places.layers).for_each(|(packs, layer)| packs.refresh(layer, parameters));
        Ok(())
    }

    /// The tables whose gradients are added row by row, with the row of each token of a batch.
    pub fn table_rows(&self, batch: &TokenBatch) -> Vec<TableRows> {
        let words = batch.ids().iter().map(|id| *id as usize).collect();
        let mut rows = vec![TableRows { place: self.places.words, rows: words }];
        if let (Some(place), Some(table)) = (self.places.positions, &self.stack.positions) {
            let positions = batch.texts().flat_map(|text| 0..text.len()).map(|place| place + table.first).collect();
            rows.push(TableRows { place, rows: positions });
        }
        if let Some(place) = self.places.token_types {
            rows.push(TableRows { place, rows: vec![0; batch.ids().len()] });
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

/// Dropout at a place of a layer.
fn layer_mask(dropout: Option<Dropout>, layer: usize, place: u64, probability: f64) -> Option<Mask> {
    Mask::new(dropout, SITES * (layer as u64 + 1) + place, probability)
}
