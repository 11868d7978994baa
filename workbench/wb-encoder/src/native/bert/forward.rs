//! The forward pass of one group of texts.

use super::{
    NativeBert,
    tape::{GroupTape, LayerTape},
};
use crate::{
    dropout::{ATTENTION_OUTPUT, EMBEDDINGS, OUTPUT, SITES},
    kernels::{Mat, MatMut, activation, matmul_packed, normalize, vector},
    native::{
        attention::AttentionScratch,
        dropout_mask::Mask,
        linear::{AdapterScratch, Pass},
        pool::sized,
    },
};

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct Scratch {
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
    pub layer: LayerTape,
}

impl NativeBert {
    /// Token states of a group into `scratch.stream`; with a tape, what the backward pass needs.
    pub(super) fn forward_group(
        &self,
        pass: Pass<'_>,
        scratch: &mut Scratch,
        mut tape: Option<&mut GroupTape>,
        checkpointed: bool,
    ) {
        if pass.n_tokens() == 0 {
            return;
        }
        self.embed_group(pass, &[], scratch, tape.as_deref_mut());
        if let Some(tape) = tape.as_deref_mut() {
            tape.checkpointed = checkpointed;
            if tape.checkpointed {
                return self.forward_checkpointed(pass, scratch, tape);
            }
            tape.layers.resize_with(self.config.num_hidden_layers, LayerTape::default);
        }
        for layer in 0..self.config.num_hidden_layers {
            let tape = tape.as_deref_mut().map(|tape| &mut tape.layers[layer]);
            self.forward_layer(pass, layer, scratch, tape);
        }
    }

    /// All layers, of which only the inputs are kept (Chen et al. 2016, arXiv 1604.06174, one checkpoint a layer).
    /// The way with a tape is taken, and the tape overwritten: its sums are in the order of the plain tracked pass.
    fn forward_checkpointed(&self, pass: Pass<'_>, scratch: &mut Scratch, tape: &mut GroupTape) {
        let mut overwritten = std::mem::take(&mut scratch.layer);
        tape.inputs.resize_with(self.config.num_hidden_layers, Vec::new);
        for (layer, input) in tape.inputs.iter_mut().enumerate() {
            input.clear();
            input.extend_from_slice(&scratch.stream[..pass.n_tokens() * self.config.hidden_size]);
            self.forward_layer(pass, layer, scratch, Some(&mut overwritten));
        }
        scratch.layer = overwritten;
    }

    /// The sum of the embeddings, normalized, into `scratch.stream`. `types` has a type for each token of the batch, or
    /// nothing where all are 0.
    pub(super) fn embed_group(
        &self,
        pass: Pass<'_>,
        types: &[u32],
        scratch: &mut Scratch,
        tape: Option<&mut GroupTape>,
    ) {
        let Pass { batch, group, dropout } = pass;
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
        self.normalize(stream, &[], &[], norm.weight, norm.shift, tape.map(|tape| &mut tape.embeddings));
        pass.drop(Mask::new(dropout, EMBEDDINGS, self.config.hidden_dropout), stream, hidden);
    }

    /// One layer on `scratch.stream`; with a tape, what the backward pass needs.
    pub(super) fn forward_layer(
        &self,
        pass: Pass<'_>,
        layer: usize,
        scratch: &mut Scratch,
        mut tape: Option<&mut LayerTape>,
    ) {
        let (t, hidden, wide) = (pass.n_tokens(), self.config.hidden_size, self.config.intermediate_size);
        let places = &self.places.layers[layer];
        let packs = &self.packs[layer];
        let Scratch { stream, projections, context, update, wide: wide_buffer, attention, adapter, .. } = scratch;
        let stream = &mut stream[..t * hidden];

        let qkv = match tape.as_deref_mut() {
            Some(tape) => sized(&mut tape.projections, t * 3 * hidden),
            None => sized(projections, t * 3 * hidden),
        };
        vector::fill_rows(qkv, &packs.qkv_bias);
        matmul_packed(MatMut::new(qkv, t, 3 * hidden), true, Mat::new(stream, t, hidden), &packs.qkv.forward, 1.0);
        for (which, linear) in places.projections.iter().enumerate() {
            self.weights.add_adapter(linear, pass, stream, &mut qkv[which * hidden..], 3 * hidden, adapter);
        }

        let heads = self.heads(layer, pass.dropout);
        let keep_context = self.weights.needs_input(&places.attention_output);
        match tape.as_deref_mut() {
            Some(LayerTape { projections, probabilities, context: kept, .. }) => {
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
        matmul_packed(
            MatMut::new(out, t, hidden),
            false,
            Mat::new(context, t, hidden),
            &packs.attention_output.forward,
            1.0,
        );
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
                matmul_packed(
                    MatMut::new(inner, t, wide),
                    false,
                    Mat::new(stream, t, hidden),
                    &packs.intermediate.forward,
                    1.0,
                );
                self.weights.add_adapter(linear, pass, stream, inner, wide, adapter);
                activation::add_bias_and_activate(inner, self.weights.bias(linear), self.config.activation);
            }
            Some(tape) => {
                let before = sized(&mut tape.before_activation, t * wide);
                vector::fill_rows(before, self.weights.bias(linear));
                matmul_packed(
                    MatMut::new(before, t, wide),
                    true,
                    Mat::new(stream, t, hidden),
                    &packs.intermediate.forward,
                    1.0,
                );
                self.weights.add_adapter(linear, pass, stream, before, wide, adapter);
                activation::activate(inner, before, self.config.activation);
            }
        }

        let linear = &places.output;
        matmul_packed(MatMut::new(out, t, hidden), false, Mat::new(inner, t, wide), &packs.output.forward, 1.0);
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
        pass: Pass<'_>,
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
        keep: Option<&mut normalize::Normalized>,
    ) {
        let (weight, shift, epsilon) =
            (self.weights.values(weight), self.weights.values(shift), self.config.layer_norm_eps as f32);
        match keep {
            None => normalize::add_and_normalize(stream, update, bias, weight, shift, epsilon),
            Some(keep) => normalize::add_and_normalize_tracked(stream, update, bias, weight, shift, epsilon, keep),
        }
    }
}
