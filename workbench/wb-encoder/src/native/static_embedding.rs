//! A bag of token vectors on the CPU: see [`StaticConfig`].

use std::collections::BTreeSet;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::groups;
use crate::{
    backbone::{Backbone, BackboneTape, Dropout, Upstream},
    batch::TokenBatch,
    error::Result,
    kernels::vector::{add_scaled, dot, vectorized},
    models::StaticConfig,
    parameters::{Gradients, Parameters},
};

/// A bag of token vectors: the weighted mean over a text's tokens.
pub struct NativeStatic {
    config: StaticConfig,
    parameters: Parameters,
    vectors: usize,
    weights: Option<usize>,
    positions: Option<usize>,
}

/// A text as its different tokens, each with its share of the mean.
type Shares = Vec<(u32, f32)>;

/// A tracked pass.
struct BagTape {
    batch: TokenBatch,
    shares: Vec<Shares>,
    embeddings: Array2<f32>,
}

impl NativeStatic {
    /// Finds every weight by name and checks its shape.
    pub fn new(config: StaticConfig, mut parameters: Parameters) -> Result<Self> {
        parameters.widen(&BTreeSet::new());
        let find = |name: &str, shape: &[usize]| -> Result<usize> {
            let refuse = |message: String| wb_core::Error::data(format!("weight {name}"), message);
            let place = parameters.position(name).ok_or_else(|| refuse("is missing".into()))?;
            let found = &parameters.at(place).shape;
            if found != shape { Err(refuse(format!("has shape {found:?}, expected {shape:?}"))) } else { Ok(place) }
        };
        let vectors = find("embeddings.weight", &[config.vocab_size, config.dim])?;
        let weights = if config.weighted { Some(find("token_weights", &[config.vocab_size])?) } else { None };
        let positions = if config.positions > 0 { Some(find("position_weights", &[config.positions])?) } else { None };
        Ok(Self { config, parameters, vectors, weights, positions })
    }

    /// Weight of each occurrence: exp(token weight + position weight).
    fn counts(&self, text: &[u32]) -> Vec<(u32, f32)> {
        let weights = self.weights.map(|place| self.parameters.floats(place));
        let positions = self.positions.map(|place| self.parameters.floats(place));
        let count = |(place, id): (usize, &u32)| {
            let of_token = weights.map_or(0.0, |weights| weights[*id as usize]);
            let of_place = positions.map_or(0.0, |positions| positions[self.config.bucket(place)]);
            (*id, (of_token + of_place).exp())
        };
        text.iter().enumerate().map(count).collect()
    }

    /// Each different token's share: its counts, divided by the sum over the text.
    fn shares(&self, text: &[u32]) -> Shares {
        let mut counts = self.counts(text);
        counts.sort_by_key(|(id, _)| *id);
        let total: f32 = counts.iter().map(|(_, count)| count).sum();
        let share = |run: &[(u32, f32)]| (run[0].0, run.iter().map(|(_, count)| count).sum::<f32>() / total);
        counts.chunk_by(|a, b| a.0 == b.0).map(share).collect()
    }

    fn mean(&self, shares: &Shares, row: &mut [f32]) {
        let (dim, vectors) = (self.config.dim, self.parameters.floats(self.vectors));
        vectorized!({
            for (id, share) in shares {
                add_scaled(row, *share, &vectors[*id as usize * dim..][..dim]);
            }
        });
    }

    /// Gradients of the position weights from a text's occurrences.
    fn at_positions(&self, text: &[u32], g: &[f32], along: f32) -> Vec<f32> {
        let (dim, vectors) = (self.config.dim, self.parameters.floats(self.vectors));
        let counts = self.counts(text);
        let total: f32 = counts.iter().map(|(_, count)| count).sum();
        let mut gradient = vec![0.0; self.config.positions];
        vectorized!({
            for (place, (id, count)) in counts.iter().enumerate() {
                let felt = dot(g, &vectors[*id as usize * dim..][..dim]) - along;
                gradient[self.config.bucket(place)] += count / total * felt;
            }
        });
        gradient
    }

    fn run(&self, batch: &TokenBatch) -> Result<(Array2<f32>, Vec<Shares>)> {
        groups::check(batch, self.config.vocab_size, usize::MAX)?;
        let mut all = Array2::zeros((batch.len(), self.config.dim));
        let rows: Vec<&mut [f32]> = all.as_slice_mut().unwrap_or_default().chunks_exact_mut(self.config.dim).collect();
        let shares = rows
            .into_par_iter()
            .enumerate()
            .with_min_len(16)
            .map(|(at, row)| {
                let shares = self.shares(batch.text(at));
                self.mean(&shares, row);
                shares
            })
            .collect();
        Ok((all, shares))
    }
}

impl Backbone for NativeStatic {
    fn dim(&self) -> usize {
        self.config.dim
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()> {
        change(&mut self.parameters);
        self.parameters.widen(&BTreeSet::new());
        Ok(())
    }

    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        Ok(self.run(batch)?.0)
    }

    fn embed_tracked(&self, batch: &TokenBatch, _: Option<Dropout>) -> Result<(Array2<f32>, BackboneTape)> {
        let (embeddings, shares) = self.run(batch)?;
        Ok((embeddings.clone(), Box::new(BagTape { batch: batch.clone(), shares, embeddings })))
    }

    fn embed_tokens(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        groups::check(batch, self.config.vocab_size, usize::MAX)?;
        Ok(self.states(batch))
    }

    fn embed_tokens_tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
    ) -> Result<(Array2<f32>, Array2<f32>, BackboneTape)> {
        let (embeddings, tape) = self.embed_tracked(batch, dropout)?;
        Ok((embeddings, self.states(batch), tape))
    }

    fn backward_tokens(&self, tape: BackboneTape, at: Upstream<'_>, gradients: &mut Gradients) -> Result<()> {
        let tape = tape
            .downcast::<BagTape>()
            .map_err(|_| wb_core::Error::data("backward pass", "the tape was made by another backbone"))?;
        at.check(&tape.batch, self.config.dim)?;
        if let Some(at_states) = at.states {
            self.backward_states(&tape.batch, at_states, gradients);
        }
        match at.embeddings {
            Some(at_embeddings) => self.backward_pooled(&tape, at_embeddings, gradients),
            None => Ok(()),
        }
    }
}

impl NativeStatic {
    /// The vector of every token, `[tokens, dim]`.
    fn states(&self, batch: &TokenBatch) -> Array2<f32> {
        let (dim, vectors) = (self.config.dim, self.parameters.floats(self.vectors));
        let mut states = Array2::zeros((batch.ids().len(), dim));
        for (row, id) in states.as_slice_mut().unwrap_or_default().chunks_exact_mut(dim).zip(batch.ids()) {
            row.copy_from_slice(&vectors[*id as usize * dim..][..dim]);
        }
        states
    }

    /// Adds every token's gradient to its vector's, in the tokens' order: one task a vector.
    fn backward_states(&self, batch: &TokenBatch, at_states: ArrayView2<'_, f32>, gradients: &mut Gradients) {
        if !self.parameters.at(self.vectors).trainable {
            return;
        }
        let mut tokens_of: Vec<Vec<u32>> = vec![Vec::new(); self.config.vocab_size];
        for (token, id) in batch.ids().iter().enumerate() {
            tokens_of[*id as usize].push(token as u32);
        }
        let vectors = gradients.at_mut(self.vectors).par_chunks_mut(self.config.dim);
        vectors.zip(tokens_of).with_min_len(64).for_each(|(gradient, tokens)| {
            for token in tokens {
                gradient.iter_mut().zip(at_states.row(token as usize)).for_each(|(g, at)| *g += at);
            }
        });
    }

    fn backward_pooled(
        &self,
        tape: &BagTape,
        at_embeddings: ArrayView2<'_, f32>,
        gradients: &mut Gradients,
    ) -> Result<()> {
        let (dim, n) = (self.config.dim, tape.shares.len());
        let at_embeddings = at_embeddings.as_standard_layout();
        let (Some(g), Some(e)) = (at_embeddings.as_slice(), tape.embeddings.as_slice()) else { return Ok(()) };
        // Which texts hold a token: one task a token adds them up in the texts' order, on any number of threads.
        let mut first = vec![0u32; self.config.vocab_size + 1];
        for (id, _) in tape.shares.iter().flatten() {
            first[*id as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut holders = vec![(0u32, 0.0f32); first.last().copied().unwrap_or_default() as usize];
        for (text, shares) in tape.shares.iter().enumerate() {
            for (id, share) in shares {
                let at = &mut next[*id as usize];
                holders[*at as usize] = (text as u32, *share);
                *at += 1;
            }
        }
        let of_token = |id: usize| &holders[first[id] as usize..first[id + 1] as usize];
        // What a token's weight feels is its share of (vector - embedding)·gradient; the second part is per text.
        let along: Vec<f32> = (0..n).map(|text| dot(&g[text * dim..][..dim], &e[text * dim..][..dim])).collect();
        if let Some(place) = self.weights.filter(|place| self.parameters.at(*place).trainable) {
            let vectors = self.parameters.floats(self.vectors);
            gradients.at_mut(place).par_iter_mut().enumerate().with_min_len(256).for_each(|(id, gradient)| {
                let vector = &vectors[id * dim..][..dim];
                vectorized!({
                    for (text, share) in of_token(id) {
                        let text = *text as usize;
                        *gradient += share * (dot(&g[text * dim..][..dim], vector) - along[text]);
                    }
                });
            });
        }
        if let Some(place) = self.positions.filter(|place| self.parameters.at(*place).trainable) {
            let of_texts: Vec<Vec<f32>> = (0..n)
                .into_par_iter()
                .map(|text| self.at_positions(tape.batch.text(text), &g[text * dim..][..dim], along[text]))
                .collect();
            for of_text in &of_texts {
                add_scaled(gradients.at_mut(place), 1.0, of_text);
            }
        }
        if self.parameters.at(self.vectors).trainable {
            gradients.at_mut(self.vectors).par_chunks_mut(dim).enumerate().with_min_len(64).for_each(
                |(id, gradient)| {
                    vectorized!({
                        for (text, share) in of_token(id) {
                            add_scaled(gradient, *share, &g[*text as usize * dim..][..dim]);
                        }
                    });
                },
            );
        }
        Ok(())
    }
}
