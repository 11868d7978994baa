//! A transformer in burn's tensors, as its description ([`Stack`]) says it; equal to transformers' model of its type
//! without what stands after the states.

use burn::tensor::{Device, Int, Tensor, TensorData, activation, module};

use super::{
    Activation, Stack,
    stack::{HeadSizes, LinearSpec, NormKind, NormOrder, Reach, Rotary, StackLayer},
};
use crate::{
    device_weights::{Pass, Weight},
    dropout::{ATTENTION, ATTENTION_OUTPUT, EMBEDDINGS, INNER, OUTPUT, SITES, STATES},
    error::Result,
    padded::Padded,
};

/// Added to the scores of keys out of a query's reach, as to those of padding.
const OUT_OF_REACH: f32 = -1e9;

/// Token states after the last layer and its normalization.
///
/// # Shapes
/// `[texts, tokens, width]`
pub(crate) fn forward(stack: &Stack, pass: &Pass<'_>, batch: &Padded) -> Result<Tensor<3>> {
    let mut x = embeddings(stack, pass, batch)?;
    if pass.weights.iter().any(Weight::is_tracked) && !x.is_tracked() {
        // On some devices gradients are not numbers where only adapters are tracked (burn issue 5162);
        // with the layers' input tracked they are right. On others it costs a little.
        x = x.autodiff().require_grad();
    }
    let mut bias = batch.attention_bias.clone();
    if let Some(distances) = &stack.distances {
        let buckets = of_distances(batch, |distance| distances.bucket(distance) as i32);
        let table = pass.weights.matrix(&distances.name)?;
        let numbers = module::embedding(table, buckets);
        bias = numbers.reshape([1, batch.tokens, batch.tokens, stack.heads.count]).permute([0, 3, 1, 2]) + bias;
    }
    for (at, layer) in stack.layers.iter().enumerate() {
        x = Layer { stack, layer, at, pass, batch }.forward(&bias, x)?;
    }
    if let Some(name) = &stack.final_norm {
        x = norm(stack, pass, name, x)?;
        x = pass.drop(x, STATES, stack.dropout.states);
    }
    Ok(x.reshape([batch.texts, batch.tokens, stack.width]))
}

/// The sum of the tables' vectors, normalized where that is so: `[texts · tokens, width]`.
fn embeddings(stack: &Stack, pass: &Pass<'_>, batch: &Padded) -> Result<Tensor<2>> {
    let (texts, tokens, width) = (batch.texts, batch.tokens, stack.width);
    let mut sum = module::embedding(pass.weights.matrix(&stack.words)?, batch.ids.clone());
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

fn norm(stack: &Stack, pass: &Pass<'_>, name: &str, x: Tensor<2>) -> Result<Tensor<2>> {
    match stack.norm {
        NormKind::Layer { .. } => pass.layer_norm(name, x, stack.epsilon),
        NormKind::Rms { from_one } => pass.rms_norm(name, x, stack.epsilon, from_one),
    }
}

/// A number for each query and key by how far the key stands after the query: `[1, tokens · tokens]`.
fn of_distances(batch: &Padded, number: impl Fn(isize) -> i32) -> Tensor<2, Int> {
    let tokens = batch.tokens;
    let longest = tokens as isize - 1;
    let all: Vec<i32> = (-longest..=longest).map(number).collect();
    let rows: Vec<i32> = (0..tokens).flat_map(|query| all[tokens - 1 - query..][..tokens].iter().copied()).collect();
    Tensor::from_data(TensorData::new(rows, [1, tokens * tokens]), &batch.present.device())
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
    fn forward(&self, bias: &Tensor<4>, x: Tensor<2>) -> Result<Tensor<2>> {
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

    fn attention(&self, bias: &Tensor<4>, x: Tensor<2>) -> Result<Tensor<2>> {
        let HeadSizes { count, shared, size, scale } = self.stack.heads;
        let (queries, keys) = self.stack.heads.widths();
        let mut parts = self.side_by_side(&self.layer.projections, x, &[queries, keys, keys])?.into_iter();
        let mut next = |heads: usize| -> Tensor<4> {
            let part = parts.next().unwrap_or_else(|| Tensor::empty([0, 0], &self.device()));
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
        let mut scores = query.matmul(key.transpose());
        if scale != 1.0 {
            scores = scores.mul_scalar(scale);
        }
        let mut scores = scores + bias.clone();
        if self.layer.reach != Reach::ALL {
            scores = scores + self.out_of_reach();
        }
        let probabilities = self.pass.drop_attention(
            activation::softmax(scores, 3),
            self.site(ATTENTION),
            self.stack.dropout.attention,
        );
        let rows = self.batch.texts * self.batch.tokens;
        let context = probabilities.matmul(value).swap_dims(1, 2).reshape([rows, queries]);
        self.linear(&self.layer.attention_output, context)
    }

    fn feed_forward(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        let wide = self.stack.wide;
        let widths: &[usize] = if self.stack.gated { &[wide, wide] } else { &[wide] };
        let mut parts = self.side_by_side(&self.layer.inner, x, widths)?.into_iter();
        let mut inner = self.activate(parts.next().unwrap_or_else(|| Tensor::empty([0, 0], &self.device())));
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
        let (all, rows) = (Tensor::cat(outputs, 1), self.batch.texts * self.batch.tokens);
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
            Activation::Gelu => activation::gelu(x),
            Activation::GeluTanh => activation::gelu_approximate(x),
            Activation::Relu => activation::relu(x),
            Activation::Silu => activation::silu(x),
        }
    }

    /// Queries or keys turned by their places, `[texts, heads, tokens, size]`.
    fn turn(&self, rotary: Rotary, x: Tensor<4>) -> Tensor<4> {
        let ([texts, heads, tokens, size], half) = (x.dims(), rotary.size / 2);
        let (cosines, sines) = rotary.table(tokens);
        let table =
            |numbers: Vec<f32>| Tensor::<4>::from_data(TensorData::new(numbers, [1, 1, tokens, half]), &self.device());
        let (cosines, sines) = (table(cosines), table(sines));
        let part = |from: usize, to: usize| x.clone().slice([0..texts, 0..heads, 0..tokens, from..to]);
        let (low, high) = (part(0, half), part(half, rotary.size));
        let mut turned =
            vec![low.clone() * cosines.clone() - high.clone() * sines.clone(), high * cosines + low * sines];
        if rotary.size < size {
            turned.push(part(rotary.size, size));
        }
        Tensor::cat(turned, 3)
    }

    /// Added to the scores of keys that a query does not see: `[1, 1, queries, keys]`.
    fn out_of_reach(&self) -> Tensor<4> {
        let (Reach { before, after }, tokens) = (self.layer.reach, self.batch.tokens);
        let hidden = |distance: isize| {
            let far = distance.unsigned_abs();
            i32::from(far > if distance > 0 { after } else { before })
        };
        let hidden = of_distances(self.batch, hidden).float().mul_scalar(OUT_OF_REACH);
        hidden.reshape([1, 1, tokens, tokens])
    }

    fn site(&self, place: u64) -> u64 {
        SITES * (self.at as u64 + 1) + place
    }

    fn device(&self) -> Device {
        self.batch.present.device()
    }
}

/// Each head so many times, one after the other.
fn repeat(x: Tensor<4>, times: usize) -> Tensor<4> {
    let [texts, heads, tokens, size] = x.dims();
    let x = x.reshape([texts, heads, 1, tokens, size]).repeat_dim(2, times);
    x.reshape([texts, heads * times, tokens, size])
}
