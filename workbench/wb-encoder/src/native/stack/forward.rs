//! The forward pass of one group of texts.

use super::{
    NativeStack, layer_mask,
    norms::add,
    tape::{GroupTape, LayerTape},
};
use crate::{
    dropout::{ATTENTION_OUTPUT, EMBEDDINGS, INNER, OUTPUT, STATES},
    kernels::{activation, normalize::Normalized, vector},
    models::stack::NormOrder,
    native::{
        attention::AttentionScratch,
        distances::Distances,
        dropout_mask::Mask,
        head_norm::{HeadColumns, HeadNormScratch},
        linear::{AdapterScratch, GroupPass},
        pool::sized,
        rotary::RotaryTable,
    },
};

/// Tokens whose feed-forward part is computed at once where nothing of it is kept.
const WIDE_ROWS: usize = 1024;

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct StackScratch {
    /// The stream, `[tokens, width]`.
    pub stream: Vec<f32>,
    /// The last states, `[tokens, width]`, where they are not the stream.
    pub states: Vec<f32>,
    /// A normalized stream, `[tokens, width]`.
    pub unit: Vec<f32>,
    /// Numbers that are added to scores.
    pub distances: Distances,
    /// The gradient at them.
    pub d_distances: Distances,
    /// One for each way of turning that a layer has.
    pub rotary: Vec<RotaryTable>,
    pub projections: Vec<f32>,
    pub context: Vec<f32>,
    pub update: Vec<f32>,
    /// Input of the feed-forward part's activation, and its gate.
    pub inner: Vec<f32>,
    /// Output of both, `[tokens, wide]`.
    pub wide: Vec<f32>,
    pub attention: AttentionScratch,
    pub adapter: AdapterScratch,
    pub heads: HeadNormScratch,
    pub input: Vec<f32>,
    /// A second stream, and a layer's tape: for what gradient checkpointing computes again.
    pub again: Vec<f32>,
    pub layer: LayerTape,
}

impl NativeStack {
    /// Token states of a group, `[tokens, width]`, which stay in the scratch; with a tape, what the backward pass needs,
    /// which is less where it was to be `checkpointed`. `types` has a type for each token of the batch, or nothing where
    /// all are 0.
    pub fn forward<'a>(
        &self,
        pass: GroupPass<'_>,
        types: &[u32],
        scratch: &'a mut StackScratch,
        mut tape: Option<&mut GroupTape>,
        checkpointed: bool,
    ) -> &'a [f32] {
        let layers = self.places.layers.len();
        let numbers = pass.n_tokens() * self.stack.width;
        if numbers == 0 {
            return &[];
        }
        self.embed_group(pass, types, scratch, tape.as_deref_mut().map(|tape| &mut tape.embedding_norm));
        self.place(pass, scratch);
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
        let StackScratch { stream, states, .. } = scratch;
        let Some(norm) = &self.places.final_norm else { return &stream[..numbers] };
        let states = sized(states, numbers);
        self.normalize(states, &stream[..numbers], norm, tape.map(|tape| &mut tape.final_norm));
        pass.drop(Mask::new(pass.dropout, STATES, self.stack.dropout.states), states, self.stack.width);
        states
    }

    /// The sum of the tables' vectors, normalized where that is so, into `scratch.stream`.
    fn embed_group(
        &self,
        pass: GroupPass<'_>,
        types: &[u32],
        scratch: &mut StackScratch,
        keep: Option<&mut Normalized>,
    ) {
        let GroupPass { batch, group, dropout } = pass;
        let width = self.stack.width;
        let table = |place: Option<usize>| place.map(|place| self.weights.values(place));
        let (words, scale) = (&self.weights.parameters.at(self.places.words).values, self.stack.word_scale as f32);
        let (positions, token_types) = (table(self.places.positions), table(self.places.token_types));
        let first_position = self.stack.positions.as_ref().map_or(0, |positions| positions.first);
        let stream = sized(&mut scratch.stream, group.tokens.len() * width);
        let mut rows = stream.chunks_exact_mut(width);
        for text in group.texts.clone() {
            let first = batch.offsets()[text];
            for (place, (id, row)) in batch.text(text).iter().zip(&mut rows).enumerate() {
                words.copy_to(*id as usize * width, row);
                if scale != 1.0 {
                    row.iter_mut().for_each(|x| *x *= scale);
                }
                let of_type = types.get(first + place).map_or(0, |one| *one as usize);
                let of_place = first_position + place;
                for (table, at) in [(token_types, of_type), (positions, of_place)] {
                    let vector = table.map_or(&[][..], |table| &table[at * width..][..width]);
                    row.iter_mut().zip(vector).for_each(|(x, v)| *x += v);
                }
            }
        }
        if let Some(norm) = &self.places.embedding_norm {
            self.add_and_normalize(stream, &[], &[], norm, keep, &mut scratch.unit);
        }
        pass.drop(Mask::new(dropout, EMBEDDINGS, self.stack.dropout.embeddings), stream, width);
    }

    /// Numbers that layers add to scores, and turns of queries and keys, for texts as long as the group's.
    pub(super) fn place(&self, pass: GroupPass<'_>, scratch: &mut StackScratch) {
        let longest = longest(pass);
        if let (Some(place), Some(table)) = (self.places.distances, &self.stack.distances) {
            let (numbers, heads) = (self.weights.values(place), self.stack.heads.count);
            let number = |head: usize, distance: isize| numbers[table.bucket(distance) * heads + head];
            scratch.distances.fill(heads, longest, number);
        }
        scratch.rotary.resize_with(self.turns.len(), RotaryTable::default);
        for (table, rotary) in scratch.rotary.iter_mut().zip(&self.turns) {
            table.reach(*rotary, longest);
        }
    }

    /// One layer on `scratch.stream`; with a tape, what the backward pass needs.
    pub(super) fn forward_layer(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        scratch: &mut StackScratch,
        mut tape: Option<&mut LayerTape>,
    ) {
        self.attention(pass, layer, scratch, tape.as_deref_mut());
        self.feed_forward(pass, layer, scratch, tape);
    }

    /// Before: `x += drop(Wo·attention(Wqkv·norm(x)) + bo)`. After: `x = norm(x + drop(Wo·attention(Wqkv·x) + bo))`.
    /// The update may have a normalization of its own before dropout.
    fn attention(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        scratch: &mut StackScratch,
        mut tape: Option<&mut LayerTape>,
    ) {
        let (t, width) = (pass.n_tokens(), self.stack.width);
        let (queries, keys) = self.stack.heads.widths();
        let row = queries + 2 * keys;
        let (places, packs, weights) = (&self.places.layers[layer], &self.packs[layer], &self.weights);
        let StackScratch {
            stream,
            unit,
            distances,
            rotary,
            projections,
            context,
            update,
            attention,
            adapter,
            heads: head_scratch,
            ..
        } = scratch;
        let stream = &mut stream[..t * width];
        let x: &[f32] = match self.norm_before(layer) {
            None => stream,
            Some(norm) => {
                let unit = sized(unit, t * width);
                self.normalize(unit, stream, norm, tape.as_deref_mut().map(|tape| &mut tape.attention_norm));
                unit
            }
        };
        let keep_context = weights.needs_input(&places.attention_output);
        let (qkv, context, kept, kept_norms) = match tape.as_deref_mut() {
            None => (sized(projections, t * row), sized(context, t * queries), None, [None, None]),
            Some(LayerTape { projections, probabilities, context: kept, head_norms, .. }) => {
                let context = sized(if keep_context { kept } else { context }, t * queries);
                (sized(projections, t * row), context, Some(probabilities), head_norms.each_mut().map(Some))
            }
        };
        let with_bias = !packs.projection_bias.is_empty();
        if with_bias {
            vector::fill_rows(qkv, &packs.projection_bias);
        }
        packs.projections.forward(t, x, qkv, with_bias);
        let mut column = 0;
        for linear in &places.projections {
            weights.add_adapter(linear, pass, x, &mut qkv[column..], row, adapter);
            column += linear.outputs;
        }
        if let Some(norms) = places.head_norms {
            let epsilon = self.stack.epsilon as f32;
            for ((columns, place), keep) in HeadColumns::both(self.stack.heads).into_iter().zip(norms).zip(kept_norms) {
                columns.normalize(qkv, self.norm_weight(place), epsilon, keep, head_scratch);
            }
        }
        if let Some(turn) = self.turn_of[layer] {
            rotary[turn].turn(pass, self.stack.heads, qkv, false);
        }
        let distances = self.places.distances.map(|_| &*distances);
        self.heads(layer, pass.dropout).attend(pass, distances, qkv, context, kept, attention);

        let out = sized(update, t * width);
        let linear = &places.attention_output;
        packs.attention_output.forward(t, context, out, false);
        weights.add_adapter(linear, pass, context, out, width, adapter);
        let mut bias = weights.bias(linear);
        if let Some(norm) = &places.attention_update_norm {
            let keep = tape.as_deref_mut().map(|tape| &mut tape.attention_update_norm);
            self.add_and_normalize(out, &[], bias, norm, keep, unit);
            bias = &[];
        }
        let mask = layer_mask(pass.dropout, layer, ATTENTION_OUTPUT, self.stack.dropout.attention_output);
        let bias = drop_update(out, bias, pass, mask, width);
        match (self.stack.order, &places.attention_norm) {
            (NormOrder::After, Some(norm)) => {
                let keep = tape.map(|tape| &mut tape.attention_norm);
                self.add_and_normalize(stream, out, bias, norm, keep, unit);
            }
            _ => add(stream, out, bias),
        }
    }

    /// Before: `x += drop(W2·act(W1·norm(x) + b1) + b2)`. After: `x = norm(x + drop(W2·act(W1·x + b1) + b2))`.
    /// The update may have a normalization of its own before dropout.
    fn feed_forward(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        scratch: &mut StackScratch,
        mut tape: Option<&mut LayerTape>,
    ) {
        let (t, width, wide) = (pass.n_tokens(), self.stack.width, self.stack.wide);
        let (places, packs, weights) = (&self.places.layers[layer], &self.packs[layer], &self.weights);
        let StackScratch { stream, unit, update, inner, wide: wide_buffer, adapter, .. } = scratch;
        let stream = &mut stream[..t * width];
        let x: &[f32] = match self.stack.order {
            NormOrder::After => stream,
            NormOrder::Before => {
                let unit = sized(unit, t * width);
                let keep = tape.as_deref_mut().map(|tape| &mut tape.feed_forward_norm);
                self.normalize(unit, stream, &places.feed_forward_norm, keep);
                unit
            }
        };
        let linear = &places.output;
        let adapted = places.inner.iter().chain([linear]).any(|linear| linear.adapter.is_some());
        // Where nothing of it is kept, the widest part of a long text is never there as a whole.
        let parts = if tape.is_some() || pass.dropout.is_some() || adapted { t } else { WIDE_ROWS.min(t) };
        let out = sized(update, t * width);
        if parts < t {
            for (x, out) in x.chunks(parts * width).zip(out.chunks_mut(parts * width)) {
                let rows = x.len() / width;
                let (before, activated) = (sized(inner, rows * self.inner_width()), sized(wide_buffer, rows * wide));
                if !packs.inner_bias.is_empty() {
                    vector::fill_rows(before, &packs.inner_bias);
                }
                packs.inner.forward(rows, x, before, !packs.inner_bias.is_empty());
                self.activate(pass, layer, before, activated);
                packs.output.forward(rows, activated, out, false);
            }
        } else {
            let activated = sized(wide_buffer, t * wide);
            self.inner(pass, layer, x, inner, activated, tape.as_deref_mut(), adapter);
            packs.output.forward(t, activated, out, false);
            weights.add_adapter(linear, pass, activated, out, width, adapter);
        }
        let mut bias = weights.bias(linear);
        if let Some(norm) = &places.feed_forward_update_norm {
            let keep = tape.as_deref_mut().map(|tape| &mut tape.feed_forward_update_norm);
            self.add_and_normalize(out, &[], bias, norm, keep, unit);
            bias = &[];
        }
        let mask = layer_mask(pass.dropout, layer, OUTPUT, self.stack.dropout.output);
        let bias = drop_update(out, bias, pass, mask, width);
        match self.stack.order {
            NormOrder::Before => add(stream, out, bias),
            NormOrder::After => {
                let keep = tape.map(|tape| &mut tape.feed_forward_norm);
                self.add_and_normalize(stream, out, bias, &places.feed_forward_norm, keep, unit);
            }
        }
    }

    /// The input of the feed-forward part's last product, out of the part's input; with a tape, what stands before the
    /// activation.
    #[expect(clippy::too_many_arguments, reason = "the pass, the input, the buffers and the result")]
    fn inner(
        &self,
        pass: GroupPass<'_>,
        layer: usize,
        x: &[f32],
        inner: &mut Vec<f32>,
        activated: &mut [f32],
        tape: Option<&mut LayerTape>,
        adapter: &mut AdapterScratch,
    ) {
        let t = pass.n_tokens();
        let (places, packs, weights) = (&self.places.layers[layer], &self.packs[layer], &self.weights);
        let add_adapters = |inner: &mut [f32], adapter: &mut _| {
            let row = self.inner_width();
            let mut column = 0;
            for linear in &places.inner {
                weights.add_adapter(linear, pass, x, &mut inner[column..], row, adapter);
                column += linear.outputs;
            }
        };
        let bias = &packs.inner_bias;
        match tape {
            // The bias and the activation in one step.
            None if !self.stack.gated && !bias.is_empty() => {
                packs.inner.forward(t, x, activated, false);
                add_adapters(activated, adapter);
                activation::add_bias_and_activate(activated, bias, self.stack.activation);
            }
            tape => {
                let before = sized(tape.map_or(inner, |tape| &mut tape.inner), t * self.inner_width());
                if !bias.is_empty() {
                    vector::fill_rows(before, bias);
                }
                packs.inner.forward(t, x, before, !bias.is_empty());
                add_adapters(before, adapter);
                self.activate(pass, layer, before, activated);
            }
        }
    }

    /// The input of the feed-forward part's last product.
    pub(super) fn activate(&self, pass: GroupPass<'_>, layer: usize, before: &[f32], activated: &mut [f32]) {
        let wide = self.stack.wide;
        match self.stack.gated {
            true => activation::gate(activated, before, wide, self.stack.activation),
            false => activation::activate(activated, before, self.stack.activation),
        }
        pass.drop(layer_mask(pass.dropout, layer, INNER, self.stack.dropout.inner), activated, wide);
    }
}

/// Dropout on an update with its bias; without dropout the bias is left to who adds the update.
fn drop_update<'a>(
    update: &mut [f32],
    bias: &'a [f32],
    pass: GroupPass<'_>,
    mask: Option<Mask>,
    width: usize,
) -> &'a [f32] {
    if mask.is_none() {
        return bias;
    }
    if !bias.is_empty() {
        for row in update.chunks_exact_mut(width) {
            vector::add_scaled(row, 1.0, bias);
        }
    }
    pass.drop(mask, update, width);
    &[]
}

/// The most tokens of a text of the group.
pub(super) fn longest(pass: GroupPass<'_>) -> usize {
    let texts = &pass.group.texts;
    let offsets = &pass.batch.offsets()[texts.start..=texts.end];
    offsets.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
}
