//! The forward pass of one group of texts.

use super::{NativeT5, tape::T5LayerTape};
use crate::{
    dropout::{ATTENTION_OUTPUT, EMBEDDINGS, INNER, OUTPUT, STATES},
    kernels::{
        activation,
        normalize::Normalized,
        rms::rms_normalize,
        vector::{add_scaled, vectorized},
    },
    native::{
        attention::AttentionScratch,
        backbone::ForwardPass,
        distances::Distances,
        linear::{AdapterScratch, GroupPass},
        pool::sized,
        tape::GroupTape,
    },
};

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct T5Scratch {
    /// The stream, `[tokens, d_model]`.
    pub stream: Vec<f32>,
    /// The last states, `[tokens, d_model]`.
    pub states: Vec<f32>,
    /// A normalized stream, `[tokens, d_model]`.
    pub unit: Vec<f32>,
    /// Numbers that are added to scores.
    pub distances: Distances,
    /// The gradient at them.
    pub d_distances: Distances,
    pub projections: Vec<f32>,
    pub context: Vec<f32>,
    pub update: Vec<f32>,
    /// The gate and what it lets through, `[tokens, 2 · d_ff]`.
    pub inner: Vec<f32>,
    /// Their product, `[tokens, d_ff]`.
    pub wide: Vec<f32>,
    pub attention: AttentionScratch,
    pub adapter: AdapterScratch,
    pub input: Vec<f32>,
    /// A second stream, and a layer's tape: for what gradient checkpointing computes again.
    pub again: Vec<f32>,
    pub layer: T5LayerTape,
}

impl ForwardPass for NativeT5 {
    type Scratch = T5Scratch;
    type Tape = GroupTape<T5LayerTape>;

    fn forward<'a>(
        &self,
        pass: GroupPass<'_>,
        scratch: &'a mut T5Scratch,
        mut tape: Option<&mut Self::Tape>,
        checkpointed: bool,
    ) -> &'a [f32] {
        let (layers, width) = (self.config.num_layers, self.config.d_model);
        let numbers = pass.n_tokens() * width;
        if numbers == 0 {
            return &[];
        }
        self.embed_group(pass, scratch);
        self.fill_distances(pass, scratch);
        match tape.as_deref_mut() {
            None => (0..layers).for_each(|layer| self.forward_layer(pass, layer, scratch, None)),
            Some(tape) => {
                let mut overwritten = std::mem::take(&mut scratch.layer);
                tape.forward(layers, checkpointed, &mut overwritten, |layer, tape, input| {
                    if let Some(input) = input {
                        input.extend_from_slice(&scratch.stream[..numbers]);
                    }
                    self.forward_layer(pass, layer, scratch, Some(tape));
                });
                scratch.layer = overwritten;
            }
        }
        let T5Scratch { stream, states, .. } = scratch;
        let states = sized(states, numbers);
        self.normalize(states, &stream[..numbers], self.places.final_norm, tape.map(|tape| &mut tape.norm));
        pass.drop(self.mask(pass.dropout, STATES), states, width);
        states
    }
}

impl NativeT5 {
    /// The token vectors into `scratch.stream`.
    fn embed_group(&self, pass: GroupPass<'_>, scratch: &mut T5Scratch) {
        let width = self.config.d_model;
        let words = self.weights.values(self.places.words);
        let stream = sized(&mut scratch.stream, pass.n_tokens() * width);
        let ids = &pass.batch.ids()[pass.group.tokens.clone()];
        for (row, id) in stream.chunks_exact_mut(width).zip(ids) {
            row.copy_from_slice(&words[*id as usize * width..][..width]);
        }
        pass.drop(self.mask(pass.dropout, EMBEDDINGS), stream, width);
    }

    /// Fills in the numbers that the layers add to scores, for texts as long as the group's.
    pub(super) fn fill_distances(&self, pass: GroupPass<'_>, scratch: &mut T5Scratch) {
        let table = self.weights.values(self.places.distances);
        let heads = self.config.num_heads;
        let number = |head: usize, distance: isize| table[self.config.bucket(distance) * heads + head];
        scratch.distances.fill(heads, longest(pass), number);
    }

    /// One layer on `scratch.stream`; with a tape, what the backward pass needs.
    pub(super) fn forward_layer(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        scratch: &mut T5Scratch,
        mut tape: Option<&mut T5LayerTape>,
    ) {
        let (t, width, inner, wide) = (pass.n_tokens(), self.config.d_model, self.config.inner(), self.config.d_ff);
        let (places, packs, weights) = (&self.places.layers[layer], &self.packs[layer], &self.weights);
        let heads = self.heads(layer, pass.dropout);
        let T5Scratch {
            stream,
            unit,
            distances,
            projections,
            context,
            update,
            inner: inner_buffer,
            wide: wide_buffer,
            attention,
            adapter,
            ..
        } = scratch;
        let stream = &mut stream[..t * width];
        let unit = sized(unit, t * width);
        let out = sized(update, t * width);

        // x += drop(Wo·attention(Wq·n, Wk·n, Wv·n)), n = RMSNorm(x)
        self.normalize(unit, stream, places.attention_norm, tape.as_deref_mut().map(|tape| &mut tape.attention_norm));
        let keep_context = weights.needs_input(&places.attention_output);
        let (qkv, context, kept) = match tape.as_deref_mut() {
            None => (sized(projections, t * 3 * inner), sized(context, t * inner), None),
            Some(T5LayerTape { projections, probabilities, context: kept, .. }) => {
                let context = sized(if keep_context { kept } else { context }, t * inner);
                (sized(projections, t * 3 * inner), context, Some(probabilities))
            }
        };
        packs.qkv.forward(t, unit, qkv, false);
        for (which, linear) in places.projections.iter().enumerate() {
            weights.add_adapter(linear, pass, unit, &mut qkv[which * inner..], 3 * inner, adapter);
        }
        heads.attend(pass, Some(distances), qkv, context, kept, attention);
        packs.attention_output.forward(t, context, out, false);
        weights.add_adapter(&places.attention_output, pass, context, out, width, adapter);
        pass.drop(self.layer_mask(pass.dropout, layer, ATTENTION_OUTPUT), out, width);
        add(stream, out);

        // x += drop(wo·drop(gelu(wi_0·n) · (wi_1·n))), n = RMSNorm(x)
        let keep_norm = tape.as_deref_mut().map(|tape| &mut tape.feed_forward_norm);
        self.normalize(unit, stream, places.feed_forward_norm, keep_norm);
        let both = sized(tape.map_or(inner_buffer, |tape| &mut tape.inner), t * 2 * wide);
        packs.inner.forward(t, unit, both, false);
        for (which, linear) in places.inner.iter().enumerate() {
            weights.add_adapter(linear, pass, unit, &mut both[which * wide..], 2 * wide, adapter);
        }
        let gated = sized(wide_buffer, t * wide);
        self.gate(pass, layer, both, gated);
        packs.output.forward(t, gated, out, false);
        weights.add_adapter(&places.output, pass, gated, out, width, adapter);
        pass.drop(self.layer_mask(pass.dropout, layer, OUTPUT), out, width);
        add(stream, out);
    }

    /// The input of the feed-forward layer's second product.
    pub(super) fn gate(&self, pass: GroupPass<'_>, layer: usize, both: &[f32], gated: &mut [f32]) {
        let wide = self.config.d_ff;
        activation::gate(gated, both, wide);
        pass.drop(self.layer_mask(pass.dropout, layer, INNER), gated, wide);
    }

    fn normalize(&self, unit: &mut [f32], stream: &[f32], weight: usize, keep: Option<&mut Normalized>) {
        rms_normalize(unit, stream, self.weights.values(weight), self.config.layer_norm_epsilon as f32, keep);
    }
}

/// The most tokens of a text of the group.
pub(super) fn longest(pass: GroupPass<'_>) -> usize {
    let texts = &pass.group.texts;
    let offsets = &pass.batch.offsets()[texts.start..=texts.end];
    offsets.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
}

/// `x += y`.
pub(super) fn add(x: &mut [f32], y: &[f32]) {
    vectorized!(add_scaled(x, 1.0, y));
}
