//! The backward pass of one group of texts: the forward pass read from its end.

use super::{
    NativeT5,
    forward::{T5Scratch, add, longest},
    places::T5LayerPlaces,
    tape::T5LayerTape,
};
use crate::{
    dropout::{ATTENTION_OUTPUT, EMBEDDINGS, INNER, OUTPUT, STATES},
    kernels::{
        activation,
        rms::{rms_backward, rms_restore},
    },
    native::{
        backbone::BackwardPass,
        lane::Lane,
        linear::{GroupPass, dropped_copy},
        pool::sized,
        states::AtStates,
    },
};

impl NativeT5 {
    /// The lowest layer that has something to learn at or below its input; `None` where even the token vectors have.
    fn lowest_layer(&self) -> Option<usize> {
        let weights = &self.weights;
        if weights.trains(self.places.words) {
            return None;
        }
        let learns = |layer: &T5LayerPlaces| {
            let norms = [layer.attention_norm, layer.feed_forward_norm];
            layer.linear().any(|linear| weights.changes(linear)) || norms.into_iter().any(|n| weights.trains(n))
        };
        // Scores of all layers have their part in the gradient of the distances.
        if weights.trains(self.places.distances) {
            return Some(0);
        }
        Some(self.places.layers.iter().position(learns).unwrap_or(self.places.layers.len()))
    }
}

impl BackwardPass for NativeT5 {
    fn backward(
        &self,
        pass: GroupPass<'_>,
        tape: &Self::Tape,
        at: AtStates<'_>,
        scratch: &mut T5Scratch,
        lane: &mut Lane,
        surface: &mut [f32],
    ) {
        let (t, width) = (pass.n_tokens(), self.config.d_model);
        let again = std::mem::take(&mut scratch.again);
        let mut whole = std::mem::replace(&mut scratch.stream, again);
        let g = sized(&mut whole, t * width);
        at.write(pass.batch, pass.group, width, g);
        pass.drop(self.mask(pass.dropout, STATES), g, width);
        let norm = self.places.final_norm;
        rms_backward(g, &tape.norm, self.weights.values(norm), lane.wanted(norm));
        if tape.checkpointed {
            self.fill_distances(pass, scratch);
        }
        scratch.d_distances.fill(self.config.num_heads, longest(pass), |_, _| 0.0);
        let lowest = self.lowest_layer();
        for layer in (lowest.unwrap_or(0)..self.places.layers.len()).rev() {
            let mut computed = std::mem::take(&mut scratch.layer);
            if tape.checkpointed {
                sized(&mut scratch.stream, t * width).copy_from_slice(&tape.inputs[layer]);
                self.forward_layer(pass, layer, scratch, Some(&mut computed));
            }
            let kept = if tape.checkpointed { &computed } else { &tape.layers[layer] };
            let goes_on = lowest.is_none_or(|lowest| layer > lowest);
            self.feed_forward_backward(pass, layer, kept, g, scratch, lane);
            self.attention_backward(pass, layer, kept, g, scratch, lane, goes_on);
            scratch.layer = computed;
        }
        if let Some(sums) = lane.wanted(self.places.distances) {
            let heads = self.config.num_heads;
            scratch
                .d_distances
                .each(|head, distance, value| sums[self.config.bucket(distance) * heads + head] += value);
        }
        if lowest.is_none() {
            pass.drop(self.mask(pass.dropout, EMBEDDINGS), g, width);
            surface.copy_from_slice(g);
        }
        scratch.again = std::mem::replace(&mut scratch.stream, whole);
    }
}

impl NativeT5 {
    /// Turns `g` from the gradient at a layer's output into that between its halves.
    fn feed_forward_backward(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        tape: &T5LayerTape,
        g: &mut [f32],
        scratch: &mut T5Scratch,
        lane: &mut Lane,
    ) {
        let (t, width, wide) = (pass.n_tokens(), self.config.d_model, self.config.d_ff);
        let (places, packs, weights) = (&self.places.layers[layer], &self.packs[layer], &self.weights);
        let parameters = &weights.parameters;
        let T5Scratch { update, unit, inner, wide: wide_buffer, adapter, input, .. } = scratch;

        // wo
        let mask = self.layer_mask(pass.dropout, layer, OUTPUT);
        let d_out = dropped_copy(g, mask, pass, width, sized(update, t * width));
        let linear = &places.output;
        let d_gated = sized(wide_buffer, t * wide);
        packs.output.backward(&[linear], parameters, t, d_out, d_gated, false);
        let both = &tape.inner[..t * 2 * wide];
        if weights.learns(linear) {
            let x = sized(input, t * wide);
            self.gate(pass, layer, both, x);
            weights.linear_backward(linear, pass, x, d_out, width, Some(d_gated), lane, adapter);
        }

        // wi_0, wi_1
        pass.drop(self.layer_mask(pass.dropout, layer, INNER), d_gated, wide);
        let d_both = sized(inner, t * 2 * wide);
        activation::gate_backward(d_both, d_gated, both, wide);
        let d_unit = sized(unit, t * width);
        packs.inner.backward(&places.inner.each_ref(), parameters, t, d_both, d_unit, false);
        let norm = weights.values(places.feed_forward_norm);
        if places.inner.iter().any(|linear| weights.learns(linear)) {
            let x = sized(input, t * width);
            rms_restore(x, &tape.feed_forward_norm, norm);
            for (which, linear) in places.inner.iter().enumerate() {
                let dy = &d_both[which * wide..];
                weights.linear_backward(linear, pass, x, dy, 2 * wide, Some(d_unit), lane, adapter);
            }
        }
        rms_backward(d_unit, &tape.feed_forward_norm, norm, lane.wanted(places.feed_forward_norm));
        add(g, d_unit);
    }

    /// Turns `g` from the gradient between a layer's halves into that at its input (left as it is unless `goes_on`).
    #[expect(clippy::too_many_arguments, reason = "the pass, what it kept, the gradient in and out")]
    fn attention_backward(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        tape: &T5LayerTape,
        g: &mut [f32],
        scratch: &mut T5Scratch,
        lane: &mut Lane,
        goes_on: bool,
    ) {
        let (t, width, inner) = (pass.n_tokens(), self.config.d_model, self.config.inner());
        let (places, packs, weights) = (&self.places.layers[layer], &self.packs[layer], &self.weights);
        let parameters = &weights.parameters;
        let T5Scratch { update, unit, projections, context, d_distances, attention, adapter, input, .. } = scratch;

        // Wo
        let mask = self.layer_mask(pass.dropout, layer, ATTENTION_OUTPUT);
        let d_out = dropped_copy(g, mask, pass, width, sized(update, t * width));
        let linear = &places.attention_output;
        let d_context = sized(context, t * inner);
        packs.attention_output.backward(&[linear], parameters, t, d_out, d_context, false);
        if weights.learns(linear) {
            weights.linear_backward(linear, pass, &tape.context, d_out, width, Some(d_context), lane, adapter);
        }

        // Wq, Wk, Wv
        let d_qkv = sized(projections, t * 3 * inner);
        let wanted = weights.trains(self.places.distances).then_some(d_distances);
        let heads = self.heads(layer, pass.dropout);
        heads.attend_backward(pass, &tape.projections, &tape.probabilities, d_context, d_qkv, wanted, attention);
        let trains_norm = weights.trains(places.attention_norm);
        let goes_to_norm = goes_on || trains_norm;
        let d_unit = sized(unit, t * width);
        if goes_to_norm {
            packs.qkv.backward(&places.projections.each_ref(), parameters, t, d_qkv, d_unit, false);
        }
        let norm = weights.values(places.attention_norm);
        if places.projections.iter().any(|linear| weights.learns(linear)) {
            let x = sized(input, t * width);
            rms_restore(x, &tape.attention_norm, norm);
            for (which, linear) in places.projections.iter().enumerate() {
                let dx = goes_to_norm.then_some(&mut *d_unit);
                weights.linear_backward(linear, pass, x, &d_qkv[which * inner..], 3 * inner, dx, lane, adapter);
            }
        }
        if goes_to_norm {
            rms_backward(d_unit, &tape.attention_norm, norm, lane.wanted(places.attention_norm));
            add(g, d_unit);
        }
    }
}
