//! The backward pass of one group of texts: the forward pass read from its end.

use super::{NativeBert, forward::BertScratch, places::BertLayerPlaces, tape::BertLayerTape};
use crate::{
    dropout::{ATTENTION_OUTPUT, EMBEDDINGS, OUTPUT, SITES},
    kernels::{
        activation,
        normalize::{Normalized, normalize_backward, restore},
    },
    native::{
        backbone::BackwardPass,
        dropout_mask::Mask,
        lane::Lane,
        linear::{GroupPass, dropped_copy},
        places::NormPlaces,
        pool::sized,
        states::AtStates,
    },
};

impl NativeBert {
    /// The lowest layer that has something to learn at or below its input; `None` where even the embeddings have.
    fn lowest_layer(&self) -> Option<usize> {
        let norm = &self.places.norm;
        let below = self.places.tables().into_iter().chain([norm.weight, norm.shift]);
        if below.into_iter().any(|place| self.weights.trains(place)) {
            return None;
        }
        let learns = |layer: &BertLayerPlaces| {
            let norms = [&layer.attention_norm, &layer.output_norm];
            let mut linear =
                layer.projections.iter().chain([&layer.attention_output, &layer.intermediate, &layer.output]);
            linear.any(|linear| self.weights.changes(linear))
                || norms.into_iter().any(|n| self.weights.trains(n.weight) || self.weights.trains(n.shift))
        };
        Some(self.places.layers.iter().position(learns).unwrap_or(self.places.layers.len()))
    }
}

impl BackwardPass for NativeBert {
    fn backward(
        &self,
        pass: GroupPass<'_>,
        tape: &Self::Tape,
        at: AtStates<'_>,
        scratch: &mut BertScratch,
        lane: &mut Lane,
        surface: &mut [f32],
    ) {
        let (t, hidden) = (pass.n_tokens(), self.config.hidden_size);
        let again = std::mem::take(&mut scratch.again);
        let mut g = std::mem::replace(&mut scratch.stream, again);
        at.write(pass.batch, pass.group, hidden, sized(&mut g, t * hidden));
        let lowest = self.lowest_layer();
        for layer in (lowest.unwrap_or(0)..self.places.layers.len()).rev() {
            let below = match layer {
                _ if tape.checkpointed => Below::Kept(&tape.inputs[layer]),
                0 => Below::Embeddings(&tape.norm),
                _ => Below::Layer(&tape.layers[layer - 1].output_norm, &self.places.layers[layer - 1].output_norm),
            };
            let mut computed = std::mem::take(&mut scratch.layer);
            if tape.checkpointed {
                sized(&mut scratch.stream, t * hidden).copy_from_slice(&tape.inputs[layer]);
                self.forward_layer(pass, layer, scratch, Some(&mut computed));
            }
            let kept = if tape.checkpointed { &computed } else { &tape.layers[layer] };
            let goes_on = lowest.is_none_or(|lowest| layer > lowest);
            let g = &mut g[..t * hidden];
            self.backward_layer(pass, layer, kept, below, g, scratch, lane, goes_on);
            scratch.layer = computed;
        }
        if lowest.is_none() {
            let g = &mut g[..t * hidden];
            pass.drop(Mask::new(pass.dropout, EMBEDDINGS, self.config.hidden_dropout), g, hidden);
            let norm = &self.places.norm;
            normalize_backward(g, &tape.norm, self.weights.values(norm.weight), lane.wanted_norm(norm));
            if !surface.is_empty() {
                surface.copy_from_slice(g);
            }
        }
        scratch.again = std::mem::replace(&mut scratch.stream, g);
    }
}

impl NativeBert {
    /// Turns `g` from the gradient at a layer's output into that at its input (left as it is unless `goes_on`).
    #[expect(clippy::too_many_arguments, reason = "the pass, what it kept, the gradient in and out")]
    fn backward_layer(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        tape: &BertLayerTape,
        below: Below<'_>,
        g: &mut [f32],
        scratch: &mut BertScratch,
        lane: &mut Lane,
        goes_on: bool,
    ) {
        let (t, hidden, wide) = (pass.n_tokens(), self.config.hidden_size, self.config.intermediate_size);
        let places = &self.places.layers[layer];
        let (packs, parameters) = (&self.packs[layer], &self.weights.parameters);
        let mask = |site| Mask::new(pass.dropout, SITES * (layer as u64 + 1) + site, self.config.hidden_dropout);
        let BertScratch { projections, context, update, wide: wide_buffer, attention, adapter, input, .. } = scratch;

        // output = LayerNorm(x1 + drop(W2·act(before) + b2))
        normalize_backward(
            g,
            &tape.output_norm,
            self.weights.values(places.output_norm.weight),
            lane.wanted_norm(&places.output_norm),
        );
        let d_out = dropped_copy(g, mask(OUTPUT), pass, hidden, sized(update, t * hidden));
        let linear = &places.output;
        let d_inner = sized(wide_buffer, t * wide);
        packs.output.backward(&[linear], parameters, t, d_out, d_inner, false);
        let before = &tape.before_activation[..t * wide];
        if self.weights.learns(linear) {
            let x = sized(input, t * wide);
            if self.weights.needs_input(linear) {
                activation::activate(x, before, self.config.activation);
            }
            self.weights.linear_backward(linear, pass, x, d_out, hidden, Some(d_inner), lane, adapter);
        }
        activation::times_derivative(d_inner, before, self.config.activation);

        // before = W1·x1 + b1
        let linear = &places.intermediate;
        packs.intermediate.backward(&[linear], parameters, t, d_inner, g, true);
        if self.weights.learns(linear) {
            let x = sized(input, t * hidden);
            if self.weights.needs_input(linear) {
                let norm = &places.attention_norm;
                restore(x, &tape.attention_norm, self.weights.values(norm.weight), self.weights.values(norm.shift));
            }
            self.weights.linear_backward(linear, pass, x, d_inner, wide, Some(g), lane, adapter);
        }

        // x1 = LayerNorm(x + drop(Wo·context + bo))
        normalize_backward(
            g,
            &tape.attention_norm,
            self.weights.values(places.attention_norm.weight),
            lane.wanted_norm(&places.attention_norm),
        );
        let d_out = dropped_copy(g, mask(ATTENTION_OUTPUT), pass, hidden, sized(update, t * hidden));
        let linear = &places.attention_output;
        let d_context = sized(context, t * hidden);
        packs.attention_output.backward(&[linear], parameters, t, d_out, d_context, false);
        if self.weights.learns(linear) {
            self.weights.linear_backward(linear, pass, &tape.context, d_out, hidden, Some(d_context), lane, adapter);
        }

        // context = attention(Wq·x + bq, Wk·x + bk, Wv·x + bv)
        let d_qkv = sized(projections, t * 3 * hidden);
        self.heads(layer, pass.dropout).attend_backward(
            pass,
            &tape.projections,
            &tape.probabilities,
            d_context,
            d_qkv,
            None,
            attention,
        );
        if goes_on {
            packs.qkv.backward(&places.qkv(), parameters, t, d_qkv, g, true);
        }
        if places.projections.iter().any(|linear| self.weights.learns(linear)) {
            let x = sized(input, t * hidden);
            if places.projections.iter().any(|linear| self.weights.needs_input(linear)) {
                self.restore_input(below, pass, x);
            }
            for (which, linear) in places.projections.iter().enumerate() {
                let dy = &d_qkv[which * hidden..];
                let dx = goes_on.then_some(&mut *g);
                self.weights.linear_backward(linear, pass, x, dy, 3 * hidden, dx, lane, adapter);
            }
        }
    }

    fn restore_input(&self, below: Below<'_>, pass: GroupPass<'_>, x: &mut [f32]) {
        match below {
            Below::Kept(input) => x.copy_from_slice(input),
            Below::Layer(norm, places) => {
                restore(x, norm, self.weights.values(places.weight), self.weights.values(places.shift))
            }
            Below::Embeddings(norm) => {
                restore(
                    x,
                    norm,
                    self.weights.values(self.places.norm.weight),
                    self.weights.values(self.places.norm.shift),
                );
                let mask = Mask::new(pass.dropout, EMBEDDINGS, self.config.hidden_dropout);
                pass.drop(mask, x, self.config.hidden_size);
            }
        }
    }
}

/// The place where a layer's input is found again.
#[derive(Clone, Copy)]
enum Below<'a> {
    /// An input that was kept.
    Kept(&'a [f32]),
    /// The output of the embeddings' normalization, after dropout.
    Embeddings(&'a Normalized),
    /// The output of the normalization of the layer below.
    Layer(&'a Normalized, &'a NormPlaces),
}
