//! The backward pass of one group of texts: the forward pass read from its end.

use ndarray::ArrayView2;
use rayon::prelude::*;

use super::{
    NativeBert,
    forward::Scratch,
    linear::Pass,
    places::{NormPlaces, Places},
    tape::{GroupTape, LayerTape},
};
use crate::{
    Dropout, Gradients, Parameters, Pooling, TokenBatch, Upstream,
    dropout::{ATTENTION_OUTPUT, EMBEDDINGS, OUTPUT, SITES},
    kernels::{
        Mat, MatMut, activation, matmul_packed,
        normalize::{Normalized, normalize_backward, restore},
        vector,
    },
    native::{dropout_mask::Mask, groups::Group, pool::sized},
};

/// Sums of gradients of everything but the embedding tables; empty where a weight does not train.
pub struct Lane(Vec<Vec<f32>>);

impl Lane {
    pub fn new(parameters: &Parameters, places: &Places) -> Self {
        let tables = places.tables();
        let zeros =
            |(place, parameter): (usize, &crate::Parameter)| match parameter.trainable && !tables.contains(&place) {
                true => vec![0.0; parameter.values.len()],
                false => Vec::new(),
            };
        Self(parameters.iter().enumerate().map(zeros).collect())
    }

    /// The sum of a weight's gradient, where it is wanted.
    pub fn wanted(&mut self, place: usize) -> Option<&mut [f32]> {
        Some(self.0[place].as_mut_slice()).filter(|sum| !sum.is_empty())
    }

    /// The sums of both weights of a layer normalization: both or none.
    fn wanted_norm(&mut self, norm: &NormPlaces) -> Option<(&mut [f32], &mut [f32])> {
        let [weight, shift] = self.0.get_disjoint_mut([norm.weight, norm.shift]).ok()?;
        (!weight.is_empty() && !shift.is_empty()).then_some((weight.as_mut_slice(), shift.as_mut_slice()))
    }

    /// Adds the lanes to the gradients, first lane first.
    pub fn add_in_order(lanes: &[Self], gradients: &mut Gradients) {
        gradients.iter_mut().enumerate().par_bridge().for_each(|(place, gradient)| {
            for lane in lanes.iter().filter(|lane| !lane.0[place].is_empty()) {
                vector::add_scaled(gradient, 1.0, &lane.0[place]);
            }
        });
    }
}

/// The gradient at the sum of the embeddings, `[tokens of the batch, hidden]`; empty where no table trains.
pub struct Surface {
    rows: Vec<f32>,
    hidden: usize,
}

impl Surface {
    pub fn new(bert: &NativeBert, n_tokens: usize) -> Self {
        let hidden = bert.config.hidden_size;
        let wanted = bert.places.tables().iter().any(|place| bert.trains(*place));
        Self { rows: if wanted { vec![0.0; n_tokens * hidden] } else { Vec::new() }, hidden }
    }

    /// Each group's rows, in the lanes' order.
    pub fn split(&mut self, lanes: &[Vec<(Group, GroupTape)>]) -> Vec<Vec<&mut [f32]>> {
        let mut of_group: Vec<(usize, usize, usize)> = lanes
            .iter()
            .enumerate()
            .flat_map(|(lane, groups)| {
                groups.iter().map(move |(group, _)| (group.tokens.start, group.tokens.len(), lane))
            })
            .collect();
        of_group.sort_unstable();
        let wanted = !self.rows.is_empty();
        let mut split: Vec<Vec<&mut [f32]>> = lanes.iter().map(|_| Vec::new()).collect();
        let mut rest = self.rows.as_mut_slice();
        for (_, n, lane) in of_group {
            let (head, tail) = rest.split_at_mut(if wanted { n * self.hidden } else { 0 });
            split[lane].push(head);
            rest = tail;
        }
        split
    }

    /// Adds every token's row to its rows of the tables: by blocks of columns, so that the order of additions is fixed.
    pub fn scatter(&self, bert: &NativeBert, batch: &TokenBatch, gradients: &mut Gradients) {
        if self.rows.is_empty() {
            return;
        }
        let hidden = self.hidden;
        let positions: Vec<usize> =
            batch.texts().flat_map(|text| 0..text.len()).map(|p| p + bert.config.first_position).collect();
        let words: Vec<usize> = batch.ids().iter().map(|id| *id as usize).collect();
        let types = vec![0; words.len()];
        for (place, table_rows) in bert.places.tables().into_iter().zip([words, positions, types]) {
            if !bert.trains(place) {
                continue;
            }
            // One task a row of the table: all tokens of that row, in order.
            let mut tokens_of: Vec<Vec<u32>> = vec![Vec::new(); bert.parameters.at(place).shape[0]];
            for (token, row) in table_rows.into_iter().enumerate() {
                tokens_of[row].push(token as u32);
            }
            gradients.at_mut(place).par_chunks_mut(hidden).zip(tokens_of).for_each(|(gradient, tokens)| {
                for token in tokens {
                    vector::add_scaled(gradient, 1.0, &self.rows[token as usize * hidden..][..hidden]);
                }
            });
        }
    }
}

impl NativeBert {
    /// The gradient at the states: what comes through the pooled embeddings, and what is given at the states themselves.
    fn at_states(&self, batch: &TokenBatch, group: &Group, at: Upstream<'_>, g: &mut [f32]) {
        let hidden = self.config.hidden_size;
        g.fill(0.0);
        if let Some(at_embeddings) = at.embeddings {
            self.unpool(batch, group, at_embeddings, g);
        }
        if let Some(at_states) = at.states {
            for (g, at) in g.chunks_exact_mut(hidden).zip(at_states.rows().into_iter().skip(group.tokens.start)) {
                g.iter_mut().zip(at).for_each(|(g, at)| *g += at);
            }
        }
    }

    fn unpool(&self, batch: &TokenBatch, group: &Group, at_embeddings: ArrayView2<'_, f32>, g: &mut [f32]) {
        let hidden = self.config.hidden_size;
        for text in group.texts.clone() {
            let (first, n) = self.rows_of(batch, group, text);
            let rows = match self.pooling {
                Pooling::Mean => first..first + n,
                Pooling::Cls => first..first + n.min(1),
                Pooling::Last => (first + n).saturating_sub(1).max(first)..first + n,
            };
            let share = 1.0 / rows.len().max(1) as f32;
            for row in rows {
                let states = &mut g[row * hidden..(row + 1) * hidden];
                states.iter_mut().zip(at_embeddings.row(text)).for_each(|(g, e)| *g = e * share);
            }
        }
    }

    /// The lowest layer that has something to learn at or below its input; `None` where even the embeddings have.
    fn lowest_layer(&self) -> Option<usize> {
        let norm = &self.places.norm;
        let below = self.places.tables().into_iter().chain([norm.weight, norm.shift]);
        if below.into_iter().any(|place| self.trains(place)) {
            return None;
        }
        let learns = |layer: &super::places::LayerPlaces| {
            let linear = |l: &super::places::LinearPlaces| {
                let adapter = l.adapter.is_some_and(|(a, b)| self.trains(a) || self.trains(b));
                adapter || self.trains(l.weight) || self.trains(l.bias)
            };
            let norms = [&layer.attention_norm, &layer.output_norm];
            layer.projections.iter().chain([&layer.attention_output, &layer.intermediate, &layer.output]).any(linear)
                || norms.into_iter().any(|n| self.trains(n.weight) || self.trains(n.shift))
        };
        Some(self.places.layers.iter().position(learns).unwrap_or(self.places.layers.len()))
    }

    #[expect(clippy::too_many_arguments, reason = "the pass, what it kept, the gradient in and out")]
    pub(super) fn backward_group(
        &self,
        batch: &TokenBatch,
        group: &Group,
        tape: &GroupTape,
        dropout: Option<Dropout>,
        at: Upstream<'_>,
        scratch: &mut Scratch,
        lane: &mut Lane,
        surface: &mut [f32],
    ) {
        let (t, hidden) = (group.tokens.len(), self.config.hidden_size);
        if t == 0 {
            return;
        }
        let again = std::mem::take(&mut scratch.again);
        let mut g = std::mem::replace(&mut scratch.stream, again);
        self.at_states(batch, group, at, sized(&mut g, t * hidden));
        let lowest = self.lowest_layer();
        for layer in (lowest.unwrap_or(0)..self.places.layers.len()).rev() {
            let below = match layer {
                _ if tape.checkpointed => Below::Kept(&tape.inputs[layer]),
                0 => Below::Embeddings(&tape.embeddings),
                _ => Below::Layer(&tape.layers[layer - 1].output_norm, &self.places.layers[layer - 1].output_norm),
            };
            let mut computed = std::mem::take(&mut scratch.layer);
            if tape.checkpointed {
                sized(&mut scratch.stream, t * hidden).copy_from_slice(&tape.inputs[layer]);
                self.forward_layer(batch, group, layer, scratch, dropout, Some(&mut computed));
            }
            let kept = if tape.checkpointed { &computed } else { &tape.layers[layer] };
            let goes_on = lowest.is_none_or(|lowest| layer > lowest);
            let g = &mut g[..t * hidden];
            self.backward_layer(batch, group, layer, kept, below, dropout, g, scratch, lane, goes_on);
            scratch.layer = computed;
        }
        if lowest.is_none() {
            let g = &mut g[..t * hidden];
            if let Some(mask) = Mask::new(dropout, EMBEDDINGS, self.config.hidden_dropout) {
                mask.apply(g, hidden, batch, group);
            }
            let norm = &self.places.norm;
            normalize_backward(g, &tape.embeddings, self.values(norm.weight), lane.wanted_norm(norm));
            if !surface.is_empty() {
                surface.copy_from_slice(g);
            }
        }
        scratch.again = std::mem::replace(&mut scratch.stream, g);
    }

    /// Turns `g` from the gradient at a layer's output into that at its input (left as it is unless `goes_on`).
    #[expect(clippy::too_many_arguments, reason = "the pass, what it kept, the gradient in and out")]
    fn backward_layer(
        &self,
        batch: &TokenBatch,
        group: &Group,
        layer: usize,
        tape: &LayerTape,
        below: Below<'_>,
        dropout: Option<Dropout>,
        g: &mut [f32],
        scratch: &mut Scratch,
        lane: &mut Lane,
        goes_on: bool,
    ) {
        let (t, hidden, wide) = (group.tokens.len(), self.config.hidden_size, self.config.intermediate_size);
        let places = &self.places.layers[layer];
        let packs = self.packs[layer].backward(places, &self.parameters);
        let pass = Pass { batch, group, dropout };
        let mask = |site| Mask::new(dropout, SITES * (layer as u64 + 1) + site, self.config.hidden_dropout);
        let Scratch { projections, context, update, wide: wide_buffer, probabilities, adapter, input, .. } = scratch;

        // output = LayerNorm(x1 + drop(W2·act(before) + b2))
        normalize_backward(
            g,
            &tape.output_norm,
            self.values(places.output_norm.weight),
            lane.wanted_norm(&places.output_norm),
        );
        let d_out = dropped_copy(g, mask(OUTPUT), pass, hidden, sized(update, t * hidden));
        let linear = &places.output;
        let d_inner = sized(wide_buffer, t * wide);
        matmul_packed(MatMut::new(d_inner, t, wide), false, Mat::new(d_out, t, hidden), &packs.output, 1.0);
        let before = &tape.before_activation[..t * wide];
        if self.learns(linear) {
            let x = sized(input, t * wide);
            if self.needs_input(linear) {
                activation::activate(x, before, self.config.activation);
            }
            self.linear_backward(linear, pass, x, d_out, hidden, Some(d_inner), lane, adapter);
        }
        activation::times_derivative(d_inner, before, self.config.activation);

        // before = W1·x1 + b1
        let linear = &places.intermediate;
        matmul_packed(MatMut::new(g, t, hidden), true, Mat::new(d_inner, t, wide), &packs.intermediate, 1.0);
        if self.learns(linear) {
            let x = sized(input, t * hidden);
            if self.needs_input(linear) {
                let norm = &places.attention_norm;
                restore(x, &tape.attention_norm, self.values(norm.weight), self.values(norm.shift));
            }
            self.linear_backward(linear, pass, x, d_inner, wide, Some(g), lane, adapter);
        }

        // x1 = LayerNorm(x + drop(Wo·context + bo))
        normalize_backward(
            g,
            &tape.attention_norm,
            self.values(places.attention_norm.weight),
            lane.wanted_norm(&places.attention_norm),
        );
        let d_out = dropped_copy(g, mask(ATTENTION_OUTPUT), pass, hidden, sized(update, t * hidden));
        let linear = &places.attention_output;
        let d_context = sized(context, t * hidden);
        matmul_packed(
            MatMut::new(d_context, t, hidden),
            false,
            Mat::new(d_out, t, hidden),
            &packs.attention_output,
            1.0,
        );
        if self.learns(linear) {
            self.linear_backward(linear, pass, &tape.context, d_out, hidden, Some(d_context), lane, adapter);
        }

        // context = attention(Wq·x + bq, Wk·x + bk, Wv·x + bv)
        let d_qkv = sized(projections, t * 3 * hidden);
        self.attend_backward(
            batch,
            group,
            layer,
            dropout,
            &tape.projections,
            &tape.probabilities,
            d_context,
            d_qkv,
            probabilities,
            input,
        );
        if goes_on {
            matmul_packed(MatMut::new(g, t, hidden), true, Mat::new(d_qkv, t, 3 * hidden), &packs.qkv, 1.0);
        }
        if places.projections.iter().any(|linear| self.learns(linear)) {
            let x = sized(input, t * hidden);
            if places.projections.iter().any(|linear| self.needs_input(linear)) {
                self.restore_input(below, pass, x);
            }
            for (which, linear) in places.projections.iter().enumerate() {
                let dy = &d_qkv[which * hidden..];
                let dx = goes_on.then_some(&mut *g);
                self.linear_backward(linear, pass, x, dy, 3 * hidden, dx, lane, adapter);
            }
        }
    }

    fn restore_input(&self, below: Below<'_>, pass: Pass<'_>, x: &mut [f32]) {
        match below {
            Below::Kept(input) => x.copy_from_slice(input),
            Below::Layer(norm, places) => restore(x, norm, self.values(places.weight), self.values(places.shift)),
            Below::Embeddings(norm) => {
                restore(x, norm, self.values(self.places.norm.weight), self.values(self.places.norm.shift));
                let mask = Mask::new(pass.dropout, EMBEDDINGS, self.config.hidden_dropout);
                pass.drop(mask, x, self.config.hidden_size);
            }
        }
    }

    /// Whether a linear layer has gradients of its own or an adapter.
    fn learns(&self, linear: &super::places::LinearPlaces) -> bool {
        self.needs_input(linear) || self.trains(linear.bias)
    }
}

/// Where a layer's input is found again.
#[derive(Clone, Copy)]
enum Below<'a> {
    /// It was kept.
    Kept(&'a [f32]),
    /// It is the output of the embeddings' normalization, after dropout.
    Embeddings(&'a Normalized),
    /// It is the output of the normalization of the layer below.
    Layer(&'a Normalized, &'a NormPlaces),
}

/// The gradient behind dropout; the gradient itself where there is none.
fn dropped_copy<'a>(g: &[f32], mask: Option<Mask>, pass: Pass<'_>, width: usize, buffer: &'a mut [f32]) -> &'a [f32] {
    buffer.copy_from_slice(g);
    pass.drop(mask, buffer, width);
    buffer
}
