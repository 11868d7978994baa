//! The forward pass of one group of texts.

use super::{NativeBert, tape::BertLayerTape};
use crate::{
    dropout::{ATTENTION_OUTPUT, EMBEDDINGS, OUTPUT, SITES},
    kernels::{
        activation,
        normalize::{Normalized, add_and_normalize},
        vector,
    },
    native::{
        attention::AttentionScratch,
        backbone::ForwardPass,
        dropout_mask::Mask,
        linear::{AdapterScratch, GroupPass},
        pool::sized,
        tape::GroupTape,
    },
};

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct BertScratch {
    /// The stream, `[tokens, hidden]`; after a pass, the states.
    pub stream: Vec<f32>,
    pub projections: Vec<f32>,
    pub context: Vec<f32>,
    pub update: Vec<f32>,
    pub wide: Vec<f32>,
    pub attention: AttentionScratch,
    pub adapter: AdapterScratch,
    pub input: Vec<f32>,
    /// A second stream, and a layer's tape: for what gradient checkpointing computes again.
    pub again: Vec<f32>,
    pub layer: BertLayerTape,
}

impl ForwardPass for NativeBert {
    type Scratch = BertScratch;
    type Tape = GroupTape<BertLayerTape>;

    fn forward<'a>(
        &self,
        pass: GroupPass<'_>,
        scratch: &'a mut BertScratch,
        mut tape: Option<&mut Self::Tape>,
        checkpointed: bool,
    ) -> &'a [f32] {
        let (layers, numbers) = (self.config.num_hidden_layers, pass.n_tokens() * self.config.hidden_size);
        if numbers == 0 {
            return &[];
        }
        self.embed_group(pass, &[], scratch, tape.as_deref_mut().map(|tape| &mut tape.norm));
        match tape {
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
        &scratch.stream[..numbers]
    }
}

impl NativeBert {
    /// The sum of the embeddings, normalized, into `scratch.stream`. `types` has a type for each token of the batch, or
    /// nothing where all are 0.
    pub(super) fn embed_group(
        &self,
        pass: GroupPass<'_>,
        types: &[u32],
        scratch: &mut BertScratch,
        keep: Option<&mut Normalized>,
    ) {
        let GroupPass { batch, group, dropout } = pass;
        let hidden = self.config.hidden_size;
        let (words, positions) = (self.weights.values(self.places.word), self.weights.values(self.places.position));
        let token_types = self.weights.values(self.places.token_type);
        let stream = sized(&mut scratch.stream, group.tokens.len() * hidden);
        let mut rows = stream.chunks_exact_mut(hidden);
        for text in group.texts.clone() {
            let first = batch.offsets()[text];
            for (place, (id, row)) in batch.text(text).iter().zip(&mut rows).enumerate() {
                let token_type = types.get(first + place).map_or(0, |one| *one as usize);
                let token_type = &token_types[token_type * hidden..][..hidden];
                let word = &words[*id as usize * hidden..][..hidden];
                let position = &positions[(self.config.first_position + place) * hidden..][..hidden];
                for (((x, w), p), t) in row.iter_mut().zip(word).zip(position).zip(token_type) {
                    *x = w + t + p;
                }
            }
        }
        let norm = &self.places.norm;
        self.normalize(stream, &[], &[], norm.weight, norm.shift, keep);
        pass.drop(Mask::new(dropout, EMBEDDINGS, self.config.hidden_dropout), stream, hidden);
    }

    /// One layer on `scratch.stream`; with a tape, what the backward pass needs.
    pub(super) fn forward_layer(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        scratch: &mut BertScratch,
        mut tape: Option<&mut BertLayerTape>,
    ) {
        let (t, hidden, wide) = (pass.n_tokens(), self.config.hidden_size, self.config.intermediate_size);
        let places = &self.places.layers[layer];
        let packs = &self.packs[layer];
        let BertScratch { stream, projections, context, update, wide: wide_buffer, attention, adapter, .. } = scratch;
        let stream = &mut stream[..t * hidden];

        let qkv = match tape.as_deref_mut() {
            Some(tape) => sized(&mut tape.projections, t * 3 * hidden),
            None => sized(projections, t * 3 * hidden),
        };
        vector::fill_rows(qkv, &packs.qkv_bias);
        packs.qkv.forward(t, stream, qkv, true);
        for (which, linear) in places.projections.iter().enumerate() {
            self.weights.add_adapter(linear, pass, stream, &mut qkv[which * hidden..], 3 * hidden, adapter);
        }

        let heads = self.heads(layer, pass.dropout);
        let keep_context = self.weights.needs_input(&places.attention_output);
        match tape.as_deref_mut() {
            Some(BertLayerTape { projections, probabilities, context: kept, .. }) => {
                let context = sized(if keep_context { kept } else { &mut *context }, t * hidden);
                heads.attend(pass, None, projections, context, Some(probabilities), attention);
            }
            None => {
                let context = sized(context, t * hidden);
                heads.attend(pass, None, &projections[..t * 3 * hidden], context, None, attention);
            }
        }
        let context: &[f32] = match tape.as_deref() {
            Some(tape) if keep_context => &tape.context,
            _ => context,
        };

        let out = sized(update, t * hidden);
        let linear = &places.attention_output;
        packs.attention_output.forward(t, context, out, false);
        self.weights.add_adapter(linear, pass, context, out, hidden, adapter);
        let bias = self.drop_update(out, self.weights.bias(linear), layer, ATTENTION_OUTPUT, pass);
        let norm = &places.attention_norm;
        self.normalize(
            stream,
            out,
            bias,
            norm.weight,
            norm.shift,
            tape.as_deref_mut().map(|tape| &mut tape.attention_norm),
        );

        let inner = sized(wide_buffer, t * wide);
        let linear = &places.intermediate;
        match tape.as_deref_mut() {
            None => {
                packs.intermediate.forward(t, stream, inner, false);
                self.weights.add_adapter(linear, pass, stream, inner, wide, adapter);
                activation::add_bias_and_activate(inner, self.weights.bias(linear), self.config.activation);
            }
            Some(tape) => {
                let before = sized(&mut tape.before_activation, t * wide);
                vector::fill_rows(before, self.weights.bias(linear));
                packs.intermediate.forward(t, stream, before, true);
                self.weights.add_adapter(linear, pass, stream, before, wide, adapter);
                activation::activate(inner, before, self.config.activation);
            }
        }

        let linear = &places.output;
        packs.output.forward(t, inner, out, false);
        self.weights.add_adapter(linear, pass, inner, out, hidden, adapter);
        let bias = self.drop_update(out, self.weights.bias(linear), layer, OUTPUT, pass);
        let norm = &places.output_norm;
        self.normalize(stream, out, bias, norm.weight, norm.shift, tape.map(|tape| &mut tape.output_norm));
    }

    /// Dropout on an update with its bias; without dropout the bias is left to the normalization.
    fn drop_update<'a>(
        &self,
        update: &mut [f32],
        bias: &'a [f32],
        layer: usize,
        site: u64,
        pass: GroupPass<'_>,
    ) -> &'a [f32] {
        let Some(mask) = Mask::new(pass.dropout, SITES * (layer as u64 + 1) + site, self.config.hidden_dropout) else {
            return bias;
        };
        for row in update.chunks_exact_mut(bias.len()) {
            vector::add_scaled(row, 1.0, bias);
        }
        pass.drop(Some(mask), update, bias.len());
        &[]
    }

    fn normalize(
        &self,
        stream: &mut [f32],
        update: &[f32],
        bias: &[f32],
        weight: usize,
        shift: usize,
        keep: Option<&mut Normalized>,
    ) {
        let (weight, shift, epsilon) =
            (self.weights.values(weight), self.weights.values(shift), self.config.layer_norm_eps as f32);
        add_and_normalize(stream, update, bias, weight, shift, epsilon, keep);
    }
}
