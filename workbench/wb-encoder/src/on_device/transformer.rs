//! A transformer in burn's tensors, as its description ([`Stack`]) says it; equal to transformers' model of its type
//! without what stands after the states.

use std::{
    f64::consts::FRAC_1_SQRT_2,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use burn::tensor::{FloatDType, Tensor, activation, module};

use super::{bias::Bias, padded::Padded, pass::Pass, traffic::Link, weights::Weight};
use crate::{
    dropout::{ATTENTION, ATTENTION_OUTPUT, EMBEDDINGS, INNER, OUTPUT, SITES, STATES},
    error::Result,
    models::{
        Activation, Stack,
        stack::{HeadSizes, LinearSpec, NormKind, NormOrder, Reach, Rotary, StackLayer},
    },
};

/// Queries that look at their keys together: of longer texts, scores are made block by block, and a block of a layer that
/// does not reach all keys has those alone that it reaches.
const BLOCK: usize = 512;

/// A transformer on its way through one group of texts.
#[derive(Clone, Copy)]
pub(crate) struct Network<'a> {
    pub(crate) stack: &'a Stack,
    pub(crate) pass: &'a Pass<'a>,
    pub(crate) batch: &'a Padded,
}

impl Network<'_> {
    /// Token states after the last layer and its normalization, and the inputs of the layers and of what comes after them,
    /// where they are to be kept.
    ///
    /// # Shapes
    /// States are `[texts, tokens, width]`, inputs `[texts · tokens, width]`.
    pub(crate) fn forward(self, mut inputs: Option<&mut Vec<Tensor<2>>>) -> Result<Tensor<3>> {
        let mut x = self.embeddings()?;
        if self.pass.weights.iter().flatten().any(Weight::is_tracked) && !x.is_tracked() {
            // On some devices gradients are not numbers where only adapters are tracked (burn issue 5162);
            // with the layers' input tracked they are right. On others it costs a little.
            x = x.autodiff().require_grad();
        }
        let bias = Bias::new(self.stack, self.pass, self.batch);
        let mut keep = |x: &Tensor<2>| {
            if let Some(inputs) = &mut inputs {
                inputs.push(x.clone());
            }
        };
        for at in 0..self.stack.layers.len() {
            keep(&x);
            x = self.layer(at, &bias, x)?;
        }
        keep(&x);
        self.last(x)
    }

    /// A layer by itself, from its input to its output.
    pub(crate) fn only_layer(self, at: usize, x: Tensor<2>) -> Result<Tensor<2>> {
        self.layer(at, &Bias::new(self.stack, self.pass, self.batch), x)
    }

    fn layer(self, at: usize, bias: &Bias<'_>, x: Tensor<2>) -> Result<Tensor<2>> {
        let Self { stack, pass, batch } = self;
        Layer { stack, layer: &stack.layers[at], at, pass, batch }.forward(bias, x)
    }

    /// The states of the last layer's output.
    pub(crate) fn last(self, mut x: Tensor<2>) -> Result<Tensor<3>> {
        let Self { stack, pass, batch, .. } = self;
        if let Some(name) = &stack.final_norm {
            x = norm(stack, pass, name, x)?;
            x = pass.drop(x, STATES, stack.dropout.states);
        }
        Ok(x.reshape([batch.texts, batch.tokens, stack.width]))
    }

    /// The sum of the tables' vectors, normalized where that is so: `[texts · tokens, width]`.
    pub(crate) fn embeddings(self) -> Result<Tensor<2>> {
        let Self { stack, pass, batch, .. } = self;
        let (texts, tokens, width) = (batch.texts, batch.tokens, stack.width);
        // The table may be in numbers of 16 bits.
        let mut sum = module::embedding(pass.weights.matrix(&stack.words)?, batch.ids.clone()).cast(FloatDType::F32);
        if stack.word_scale != 1.0 {
            sum = sum.mul_scalar(stack.word_scale);
        }
        let positions = match &stack.positions {
            Some(table) => {
                let rows = table.first..table.first + tokens;
                Some(pass.weights.matrix(&table.name)?.slice([rows, 0..width]))
            }
            None => None,
        };
        let types = match (&stack.token_types, &batch.types) {
            (Some((name, _)), None) => Some(pass.weights.matrix(name)?.slice([0..1, 0..width])),
            (Some((name, _)), Some(types)) => {
                sum = sum + module::embedding(pass.weights.matrix(name)?, types.clone());
                None
            }
            (None, _) => None,
        };
        let added = match (positions, types) {
            (Some(positions), Some(types)) => Some(positions + types),
            (one, other) => one.or(other),
        };
        if let Some(added) = added {
            sum = sum + added.unsqueeze::<3>();
        }
        let mut x = sum.reshape([texts * tokens, width]);
        if let Some(name) = &stack.embedding_norm {
            x = norm(stack, pass, name, x)?;
        }
        Ok(pass.drop(x, EMBEDDINGS, stack.dropout.embeddings))
    }
}

fn norm(stack: &Stack, pass: &Pass<'_>, name: &str, x: Tensor<2>) -> Result<Tensor<2>> {
    match stack.norm {
        NormKind::Layer { .. } => pass.layer_norm(name, x, stack.epsilon),
        NormKind::Rms { from_one } => pass.rms_norm(name, x, stack.epsilon, from_one),
    }
}

/// Cosines and sines of the places that texts had until now, on the device, `[places, size / 2]` each.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<Vec<(Rotary, [Tensor<2>; 2])>>);

impl Turns {
    /// Drops all tables.
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Tables of so many places, `[1, 1, tokens, size / 2]` each.
    fn of(&self, rotary: Rotary, tokens: usize, link: &Link) -> [Tensor<4>; 2] {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(of, [cosines, _])| *of != rotary || cosines.dims()[0] >= tokens);
        let found = known.iter().find(|(of, _)| *of == rotary).map(|(_, tables)| tables.clone());
        let half = rotary.size / 2;
        let tables = found.unwrap_or_else(|| {
            let places = tokens.next_power_of_two();
            let (cosines, sines) = rotary.table(places);
            let tables = [cosines, sines].map(|table| link.floats(table, [places, half]));
            known.push((rotary, tables.clone()));
            tables
        });
        tables.map(|table| table.slice([0..tokens, 0..half]).unsqueeze::<4>())
    }
}

/// One layer of a pass.
struct Layer<'a> {
    stack: &'a Stack,
    layer: &'a StackLayer,
    at: usize,
    pass: &'a Pass<'a>,
    batch: &'a Padded,
}

impl Layer<'_> {
    fn forward(&self, bias: &Bias<'_>, x: Tensor<2>) -> Result<Tensor<2>> {
        let dropout = self.stack.dropout;
        let before = self.stack.order == NormOrder::Before;
        let input = match (&self.layer.attention_norm, before) {
            (Some(name), true) => self.norm(name, x.clone())?,
            _ => x.clone(),
        };
        let out = self.update_norm(&self.layer.attention_update_norm, self.attention(bias, input)?)?;
        let out = self.pass.drop(out, self.site(ATTENTION_OUTPUT), dropout.attention_output);
        let x = match (&self.layer.attention_norm, before) {
            (Some(name), false) => self.norm(name, out + x)?,
            _ => x + out,
        };
        let name = &self.layer.feed_forward_norm;
        let input = if before { self.norm(name, x.clone())? } else { x.clone() };
        let out = self.update_norm(&self.layer.feed_forward_update_norm, self.feed_forward(input)?)?;
        let out = self.pass.drop(out, self.site(OUTPUT), dropout.output);
        if before { Ok(x + out) } else { self.norm(name, out + x) }
    }

    fn attention(&self, bias: &Bias<'_>, x: Tensor<2>) -> Result<Tensor<2>> {
        let HeadSizes { count, shared, size, scale } = self.stack.heads;
        let (queries, keys) = self.stack.heads.widths();
        let mut parts = self.side_by_side(&self.layer.projections, x, &[queries, keys, keys])?.into_iter();
        let mut next = |heads: usize| -> Tensor<4> {
            let part = parts.next().unwrap_or_else(|| Tensor::empty([0, 0], self.pass.link.device()));
            part.reshape([self.batch.texts, self.batch.tokens, heads, size]).swap_dims(1, 2)
        };
        let (mut query, mut key, mut value) = (next(count), next(shared), next(shared));
        if let Some([of_query, of_key]) = &self.layer.head_norms {
            query = self.head_norm(of_query, query)?;
            key = self.head_norm(of_key, key)?;
        }
        if let Some(rotary) = self.layer.rotary {
            query = self.turn(rotary, query);
            key = self.turn(rotary, key);
        }
        if shared < count {
            key = repeat(key, count / shared);
            value = repeat(value, count / shared);
        }
        let rows = self.batch.texts * self.batch.tokens;
        let context = self.context(bias, [query, key, value], scale)?;
        let context = context.swap_dims(1, 2).reshape([rows, queries]);
        self.linear(&self.layer.attention_output, context)
    }

    /// Means of the keys' values for all queries, `[texts, heads, tokens, size]` each.
    fn context(&self, bias: &Bias<'_>, [query, key, value]: [Tensor<4>; 3], scale: f64) -> Result<Tensor<4>> {
        let tokens = self.batch.tokens;
        if tokens <= BLOCK {
            return self.seen(bias, [query, key, value], [&(0..tokens), &(0..tokens)], scale);
        }
        let block = |start: usize| {
            let queries = start..(start + BLOCK).min(tokens);
            let keys = keys_of(self.layer.reach, &queries, tokens);
            let part = |of: &Tensor<4>, places: &Range<usize>| of.clone().narrow(2, places.start, places.len());
            let parts = [part(&query, &queries), part(&key, &keys), part(&value, &keys)];
            self.seen(bias, parts, [&queries, &keys], scale)
        };
        Ok(self.pass.link.join((0..tokens).step_by(BLOCK).map(block).collect::<Result<Vec<_>>>()?, 2))
    }

    /// Means of some keys' values for some queries.
    fn seen(
        &self,
        bias: &Bias<'_>,
        parts: [Tensor<4>; 3],
        places: [&Range<usize>; 2],
        scale: f64,
    ) -> Result<Tensor<4>> {
        let (site, rate) = (self.site(ATTENTION), self.stack.dropout.attention);
        let added = bias.of(self.layer.reach, places[0], places[1])?;
        Ok(self.pass.attend(parts, scale, added, places, (site, rate)))
    }

    fn feed_forward(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        let wide = self.stack.wide;
        let widths: &[usize] = if self.stack.gated { &[wide, wide] } else { &[wide] };
        let mut parts = self.side_by_side(&self.layer.inner, x, widths)?.into_iter();
        let mut inner = self.activate(parts.next().unwrap_or_else(|| Tensor::empty([0, 0], self.pass.link.device())));
        if let Some(up) = parts.next() {
            inner = inner * up;
        }
        let inner = self.pass.drop(inner, self.site(INNER), self.stack.dropout.inner);
        self.linear(&self.layer.output, inner)
    }

    /// Outputs of linear layers that share their input, cut anew where one matrix holds several of them.
    fn side_by_side(&self, layers: &[LinearSpec], x: Tensor<2>, widths: &[usize]) -> Result<Vec<Tensor<2>>> {
        let outputs: Vec<Tensor<2>> =
            layers.iter().map(|layer| self.linear(layer, x.clone())).collect::<Result<_>>()?;
        if outputs.len() == widths.len() {
            return Ok(outputs);
        }
        let (all, rows) = (self.pass.link.join(outputs, 1), self.batch.texts * self.batch.tokens);
        let cut = |end: &mut usize, width: &usize| {
            let start = *end;
            *end += width;
            Some(all.clone().slice([0..rows, start..*end]))
        };
        Ok(widths.iter().scan(0, cut).collect())
    }

    fn linear(&self, layer: &LinearSpec, x: Tensor<2>) -> Result<Tensor<2>> {
        match layer.bias {
            true => self.pass.linear(&layer.name, x),
            false => self.pass.product(&layer.name, x),
        }
    }

    fn norm(&self, name: &str, x: Tensor<2>) -> Result<Tensor<2>> {
        norm(self.stack, self.pass, name, x)
    }

    fn update_norm(&self, name: &Option<String>, x: Tensor<2>) -> Result<Tensor<2>> {
        name.as_ref().map_or_else(|| Ok(x.clone()), |name| self.norm(name, x.clone()))
    }

    fn head_norm(&self, name: &str, x: Tensor<4>) -> Result<Tensor<4>> {
        let dims @ [texts, heads, tokens, size] = x.dims();
        let from_one = self.stack.norm == (NormKind::Rms { from_one: true });
        let rows = self.pass.rms_norm(name, x.reshape([texts * heads * tokens, size]), self.stack.epsilon, from_one)?;
        Ok(rows.reshape(dims))
    }

    fn activate(&self, x: Tensor<2>) -> Tensor<2> {
        match self.stack.activation {
            Activation::Gelu => gelu(x),
            Activation::GeluTanh => activation::gelu_approximate(x),
            Activation::Relu => activation::relu(x),
            Activation::Silu => activation::silu(x),
        }
    }

    /// Queries or keys turned by their places, `[texts, heads, tokens, size]`.
    fn turn(&self, rotary: Rotary, x: Tensor<4>) -> Tensor<4> {
        let ([texts, heads, tokens, size], half) = (x.dims(), rotary.size / 2);
        let [cosines, sines] = self.pass.link.turns.of(rotary, tokens, self.pass.link);
        let part = |from: usize, to: usize| x.clone().slice([0..texts, 0..heads, 0..tokens, from..to]);
        let (low, high) = (part(0, half), part(half, rotary.size));
        let mut turned =
            vec![low.clone() * cosines.clone() - high.clone() * sines.clone(), high * cosines + low * sines];
        if rotary.size < size {
            turned.push(part(rotary.size, size));
        }
        self.pass.link.join(turned, 3)
    }

    fn site(&self, place: u64) -> u64 {
        SITES * (self.at as u64 + 1) + place
    }
}

/// The keys that some queries reach, with some more, so that blocks begin at multiples of sixteen as texts end at them.
fn keys_of(reach: Reach, queries: &Range<usize>, tokens: usize) -> Range<usize> {
    let start = queries.start.saturating_sub(reach.before) / 16 * 16;
    let end = queries.end.saturating_add(reach.after).min(tokens).next_multiple_of(16).min(tokens);
    start..end
}

/// x · Φ(x) = x · (1 + erf(x / √2)) / 2, whose derivative is its own. That of burn's `gelu` is the derivative of the tanh
/// form on all devices but the processor, up to 2e-4 away.
fn gelu(x: Tensor<2>) -> Tensor<2> {
    let twice = x.clone().mul_scalar(FRAC_1_SQRT_2).erf().add_scalar(1.0);
    x.mul_scalar(0.5) * twice
}

/// Each head so many times, one after the other.
fn repeat(x: Tensor<4>, times: usize) -> Tensor<4> {
    let [texts, heads, tokens, size] = x.dims();
    let x = x.reshape([texts, heads, 1, tokens, size]).repeat_dim(2, times);
    x.reshape([texts, heads * times, tokens, size])
}
