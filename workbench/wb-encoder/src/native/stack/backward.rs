//! The backward pass of one group of texts: the forward pass read from its end.

use super::{
    NativeStack,
    forward::{StackScratch, longest},
    layer_mask,
    norms::add,
    places::LayerPlaces,
    tape::{GroupTape, LayerTape},
};
use crate::{
    dropout::{ATTENTION_OUTPUT, EMBEDDINGS, INNER, OUTPUT, STATES},
    kernels::{activation, normalize::Normalized},
    models::stack::NormOrder,
    native::{
        dropout_mask::Mask,
        head_norm::HeadColumns,
        lane::Lane,
        linear::{GroupPass, dropped_copy},
        places::NormPlaces,
        pool::sized,
        states::AtStates,
    },
};

/// The place where the input of a layer that does not normalize it is found again.
#[derive(Clone, Copy)]
enum Below<'a> {
    /// An input that was kept.
    Kept(&'a [f32]),
    /// The output of the embeddings' normalization, after dropout.
    Embeddings(&'a Normalized),
    /// The output of the normalization of the layer below.
    Layer(&'a Normalized, &'a NormPlaces),
}

impl NativeStack {
    /// The lowest layer that has something to learn at or below its input; `None` where even the embeddings have.
    fn lowest_layer(&self) -> Option<usize> {
        let (weights, places) = (&self.weights, &self.places);
        let norm = places.embedding_norm.iter().flat_map(NormPlaces::all);
        if self.tables().chain(norm).any(|place| weights.trains(place)) {
            return None;
        }
        // Scores of all layers have their part in the gradient of the distances.
        if places.distances.is_some_and(|place| weights.trains(place)) {
            return Some(0);
        }
        let learns = |layer: &LayerPlaces| {
            layer.linear().any(|linear| weights.changes(linear)) || layer.others().any(|place| weights.trains(place))
        };
        Some(places.layers.iter().position(learns).unwrap_or(places.layers.len()))
    }

    /// Adds a group's gradients to the lane, and puts the gradient at its embeddings into `surface` unless that is empty.
    pub fn backward(
        &self,
        pass: GroupPass<'_>,
        tape: &GroupTape,
        at: AtStates<'_>,
        scratch: &mut StackScratch,
        lane: &mut Lane,
        surface: &mut [f32],
    ) {
        let (t, width) = (pass.n_tokens(), self.stack.width);
        let again = std::mem::take(&mut scratch.again);
        let mut whole = std::mem::replace(&mut scratch.stream, again);
        let g = sized(&mut whole, t * width);
        at.write(pass.batch, pass.group, width, g);
        if let Some(norm) = &self.places.final_norm {
            pass.drop(Mask::new(pass.dropout, STATES, self.stack.dropout.states), g, width);
            self.normalize_backward(g, &tape.final_norm, norm, lane);
        }
        self.place(pass, scratch);
        scratch.d_distances.fill(self.stack.heads.count, longest(pass), |_, _| 0.0);
        let lowest = self.lowest_layer();
        for layer in (lowest.unwrap_or(0)..self.places.layers.len()).rev() {
            let below = match layer {
                _ if tape.checkpointed => Below::Kept(&tape.inputs[layer]),
                0 => Below::Embeddings(&tape.embedding_norm),
                _ => Below::Layer(
                    &tape.layers[layer - 1].feed_forward_norm,
                    &self.places.layers[layer - 1].feed_forward_norm,
                ),
            };
            let mut computed = std::mem::take(&mut scratch.layer);
            if tape.checkpointed {
                sized(&mut scratch.stream, t * width).copy_from_slice(&tape.inputs[layer]);
                self.forward_layer(pass, layer, scratch, Some(&mut computed));
            }
            let kept = if tape.checkpointed { &computed } else { &tape.layers[layer] };
            let goes_on = lowest.is_none_or(|lowest| layer > lowest);
            self.feed_forward_backward(pass, layer, kept, g, scratch, lane);
            self.attention_backward(pass, layer, kept, below, g, scratch, lane, goes_on);
            scratch.layer = computed;
        }
        if let Some(place) = self.places.distances
            && let Some(table) = &self.stack.distances
            && let Some(sums) = lane.wanted(place)
        {
            let heads = self.stack.heads.count;
            scratch.d_distances.each(|head, distance, value| sums[table.bucket(distance) * heads + head] += value);
        }
        if lowest.is_none() {
            pass.drop(Mask::new(pass.dropout, EMBEDDINGS, self.stack.dropout.embeddings), g, width);
            if let Some(norm) = &self.places.embedding_norm {
                self.normalize_backward(g, &tape.embedding_norm, norm, lane);
            }
            if !surface.is_empty() {
                surface.copy_from_slice(g);
            }
        }
        scratch.again = std::mem::replace(&mut scratch.stream, whole);
    }

    /// Turns `g` from the gradient at a layer's output into that between its parts.
    fn feed_forward_backward(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        tape: &LayerTape,
        g: &mut [f32],
        scratch: &mut StackScratch,
        lane: &mut Lane,
    ) {
        let (t, width, wide, row) = (pass.n_tokens(), self.stack.width, self.stack.wide, self.inner_width());
        let (places, packs, weights) = (&self.places.layers[layer], &self.packs[layer], &self.weights);
        let (parameters, norm) = (&weights.parameters, &places.feed_forward_norm);
        let StackScratch { update, unit, inner, wide: wide_buffer, adapter, input, .. } = scratch;
        let before = self.stack.order == NormOrder::Before;
        if !before {
            self.normalize_backward(g, &tape.feed_forward_norm, norm, lane);
        }

        // W2
        let mask = layer_mask(pass.dropout, layer, OUTPUT, self.stack.dropout.output);
        let d_out = dropped_copy(g, mask, pass, width, sized(update, t * width));
        if let Some(norm) = &places.feed_forward_update_norm {
            self.normalize_backward(d_out, &tape.feed_forward_update_norm, norm, lane);
        }
        let linear = &places.output;
        let d_activated = sized(wide_buffer, t * wide);
        packs.output.backward(&[linear], parameters, t, d_out, d_activated, false);
        let kept = &tape.inner[..t * row];
        if weights.learns(linear) {
            let x = sized(input, t * wide);
            if weights.needs_input(linear) {
                self.activate(pass, layer, kept, x);
            }
            weights.linear_backward(linear, pass, x, d_out, width, Some(d_activated), lane, adapter);
        }

        // W1
        pass.drop(layer_mask(pass.dropout, layer, INNER, self.stack.dropout.inner), d_activated, wide);
        let d_inner = if self.stack.gated {
            let d_both = sized(inner, t * row);
            activation::gate_backward(d_both, d_activated, kept, wide, self.stack.activation);
            d_both
        } else {
            activation::times_derivative(d_activated, kept, self.stack.activation);
            d_activated
        };
        let mut d_unit = before.then(|| sized(unit, t * width));
        let dx: &mut [f32] = d_unit.as_deref_mut().unwrap_or(&mut *g);
        packs.inner.backward(&places.inner(), parameters, t, d_inner, dx, !before);
        if places.inner.iter().any(|linear| weights.learns(linear)) {
            let x = sized(input, t * width);
            if places.inner.iter().any(|linear| weights.needs_input(linear)) {
                match before {
                    true => self.restore(x, &tape.feed_forward_norm, norm),
                    // The stream between the parts.
                    false => self.restore(x, &tape.attention_norm, self.after_attention(layer)),
                }
            }
            let mut column = 0;
            for linear in &places.inner {
                weights.linear_backward(linear, pass, x, &d_inner[column..], row, Some(dx), lane, adapter);
                column += linear.outputs;
            }
        }
        if let Some(d_unit) = d_unit {
            self.normalize_backward(d_unit, &tape.feed_forward_norm, norm, lane);
            add(g, d_unit, &[]);
        }
    }

    /// Turns `g` from the gradient between a layer's parts into that at its input (left as it is unless `goes_on`).
    #[expect(clippy::too_many_arguments, reason = "the pass, what it kept, the gradient in and out")]
    fn attention_backward(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        tape: &LayerTape,
        below: Below<'_>,
        g: &mut [f32],
        scratch: &mut StackScratch,
        lane: &mut Lane,
        goes_on: bool,
    ) {
        let (t, width, sizes) = (pass.n_tokens(), self.stack.width, self.stack.heads);
        let (queries, keys) = sizes.widths();
        let row = queries + 2 * keys;
        let (places, packs, weights) = (&self.places.layers[layer], &self.packs[layer], &self.weights);
        let parameters = &weights.parameters;
        let StackScratch {
            update,
            unit,
            projections,
            context,
            distances,
            d_distances,
            rotary,
            attention,
            adapter,
            heads: head_scratch,
            input,
            ..
        } = scratch;
        if self.stack.order == NormOrder::After {
            self.normalize_backward(g, &tape.attention_norm, self.after_attention(layer), lane);
        }

        // Wo
        let mask = layer_mask(pass.dropout, layer, ATTENTION_OUTPUT, self.stack.dropout.attention_output);
        let d_out = dropped_copy(g, mask, pass, width, sized(update, t * width));
        if let Some(norm) = &places.attention_update_norm {
            self.normalize_backward(d_out, &tape.attention_update_norm, norm, lane);
        }
        let linear = &places.attention_output;
        let d_context = sized(context, t * queries);
        packs.attention_output.backward(&[linear], parameters, t, d_out, d_context, false);
        if weights.learns(linear) {
            weights.linear_backward(linear, pass, &tape.context, d_out, width, Some(d_context), lane, adapter);
        }

        // Wq, Wk, Wv
        let d_qkv = sized(projections, t * row);
        let wanted = self.places.distances.is_some_and(|place| weights.trains(place)).then_some(d_distances);
        self.heads(layer, pass.dropout).attend_backward(
            pass,
            self.places.distances.map(|_| &*distances),
            &tape.projections,
            &tape.probabilities,
            d_context,
            d_qkv,
            wanted,
            attention,
        );
        if let Some(turn) = self.turn_of[layer] {
            rotary[turn].turn(pass, sizes, d_qkv, true);
        }
        if let Some(norms) = places.head_norms {
            for ((columns, place), kept) in HeadColumns::both(sizes).into_iter().zip(norms).zip(&tape.head_norms) {
                columns.backward(d_qkv, self.norm_weight(place), kept, lane.wanted(place), head_scratch);
            }
        }
        let norm = self.norm_before(layer);
        let trains_norm = norm.is_some_and(|norm| norm.all().any(|place| weights.trains(place)));
        let goes_to_input = goes_on || trains_norm;
        let mut d_unit = norm.is_some().then(|| sized(unit, t * width));
        let dx: &mut [f32] = d_unit.as_deref_mut().unwrap_or(&mut *g);
        if goes_to_input {
            packs.projections.backward(&places.projections(), parameters, t, d_qkv, dx, norm.is_none());
        }
        if places.projections.iter().any(|linear| weights.learns(linear)) {
            let x = sized(input, t * width);
            if places.projections.iter().any(|linear| weights.needs_input(linear)) {
                match norm {
                    Some(norm) => self.restore(x, &tape.attention_norm, norm),
                    None => self.restore_input(below, pass, x),
                }
            }
            let mut column = 0;
            for linear in &places.projections {
                let dx = goes_to_input.then_some(&mut *dx);
                weights.linear_backward(linear, pass, x, &d_qkv[column..], row, dx, lane, adapter);
                column += linear.outputs;
            }
        }
        if let (Some(norm), Some(d_unit), true) = (norm, d_unit, goes_to_input) {
            self.normalize_backward(d_unit, &tape.attention_norm, norm, lane);
            add(g, d_unit, &[]);
        }
    }

    /// The normalization after attention, which each layer of that order has.
    fn after_attention(&self, layer: usize) -> &NormPlaces {
        let places = &self.places.layers[layer];
        places.attention_norm.as_ref().unwrap_or(&places.feed_forward_norm)
    }

    fn restore_input(&self, below: Below<'_>, pass: GroupPass<'_>, x: &mut [f32]) {
        match below {
            Below::Kept(input) => x.copy_from_slice(input),
            Below::Layer(norm, places) => self.restore(x, norm, places),
            Below::Embeddings(norm) => {
                if let Some(places) = &self.places.embedding_norm {
                    self.restore(x, norm, places);
                }
                pass.drop(Mask::new(pass.dropout, EMBEDDINGS, self.stack.dropout.embeddings), x, self.stack.width);
            }
        }
    }
}
