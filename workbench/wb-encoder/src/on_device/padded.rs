//! Texts of similar length side by side on a device, the shorter ones padded.

use burn::tensor::{Int, Tensor};

use super::traffic::Link;
use crate::{batch::TokenBatch, error::Result, pooling::Pooling};

/// Lengths are padded to multiples of this: few shapes for devices that compile a kernel for each,
/// and none that some of them compute wrongly (burn issue 5352).
const BUCKET: usize = 16;

/// Cost of a group beside its tokens, in tokens: a layer launches as many kernels for few as for many.
const GROUP: usize = 2048;

/// Added to attention scores of padding: exp of it is 0 in single precision.
const MASKED: f32 = -1e9;

/// A padded batch on a device.
#[derive(Debug)]
pub(crate) struct Padded {
    /// Number of texts.
    pub(crate) texts: usize,
    /// Tokens of each, with padding.
    pub(crate) tokens: usize,
    /// Token ids, 0 where padded: `[texts, tokens]`.
    pub(crate) ids: Tensor<2, Int>,
    /// 0 for a token that is attended to, a very negative number for padding and other tokens: `[texts, 1, 1, tokens]`.
    pub(crate) attention_bias: Tensor<4>,
    /// 1 for a token, 0 for padding: `[texts, tokens, 1]`.
    pub(crate) present: Tensor<3>,
    /// Types of tokens, 0 where padded, `[texts, tokens]`; none where all are 0.
    pub(crate) types: Option<Tensor<2, Int>>,
    /// Tokens of each text without padding: `[texts, 1, 1]`.
    lengths: Tensor<3>,
    /// Places of tokens in their texts, from 0: `[1, tokens, 1]`.
    places: Tensor<3>,
}

impl Padded {
    /// Puts texts side by side, of which so many tokens each are attended to. `vocab` and `longest` are what the model
    /// can take.
    pub(crate) fn new(
        texts: &[&[u32]],
        keys: &[usize],
        vocab: usize,
        longest: Option<usize>,
        link: &Link,
    ) -> Result<Self> {
        let most = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        if let Some(limit) = longest.filter(|limit| most > *limit) {
            let message = format!("has {most} tokens, expected at most {limit}");
            return Err(wb_core::Error::data("a text of this batch", message));
        }
        let tokens = bucket(most).min(longest.unwrap_or(usize::MAX));
        let n = texts.len();
        let mut ids = vec![0i32; n * tokens];
        for (row, text) in ids.chunks_exact_mut(tokens.max(1)).zip(texts) {
            if let Some(id) = text.iter().find(|id| **id as usize >= vocab) {
                let message = format!("has token id {id}, expected ids below {vocab}");
                return Err(wb_core::Error::data("a text of this batch", message));
            }
            row.iter_mut().zip(*text).for_each(|(to, id)| *to = *id as i32);
        }
        link.count_places(n * tokens, texts.iter().map(|text| text.len()).sum());
        // What follows from the lengths is made where it is needed, and does not cross.
        let lengths = link.floats(texts.iter().map(|text| text.len() as f32).collect(), [n, 1, 1]);
        // A whole text is attended to nearly always.
        let keys = match texts.iter().zip(keys).all(|(text, keys)| text.len() == *keys) {
            true => lengths.clone(),
            false => link.floats(keys.iter().map(|keys| *keys as f32).collect(), [n, 1, 1]),
        };
        let places = link.arange(tokens).float().reshape([1, tokens, 1]);
        let before = |end: &Tensor<3>| {
            let (places, end) = (places.clone().expand([n, tokens, 1]), end.clone().expand([n, tokens, 1]));
            places.lower(end).float()
        };
        let attention_bias = (before(&keys) - 1.0).mul_scalar(-MASKED).reshape([n, 1, 1, tokens]);
        Ok(Self {
            texts: n,
            tokens,
            ids: link.ints(ids, [n, tokens]),
            attention_bias,
            present: before(&lengths),
            types: None,
            lengths,
            places,
        })
    }

    /// Gives tokens their types, each text's as many as it has tokens, or none for 0; `known` is how many the model has.
    pub(crate) fn with_types(mut self, types: &[&[u32]], known: usize, link: &Link) -> Result<Self> {
        if types.iter().all(|types| types.is_empty()) {
            return Ok(self);
        }
        let mut all = vec![0i32; self.texts * self.tokens];
        for (row, types) in all.chunks_exact_mut(self.tokens).zip(types) {
            if let Some(one) = types.iter().find(|one| **one as usize >= known) {
                let message = format!("token type {one}, the model knows {known}");
                return Err(wb_core::Error::data("a batch of pairs", message));
            }
            row.iter_mut().zip(*types).for_each(|(to, from)| *to = *from as i32);
        }
        self.types = Some(link.ints(all, [self.texts, self.tokens]));
        Ok(self)
    }

    /// Each token's weight in its text's vector ([`Pooling::weight`]), 0 for padding: `[texts, tokens, 1]`.
    pub(crate) fn shares(&self, pooling: Pooling) -> Tensor<3> {
        let all = [self.texts, self.tokens, 1];
        let lengths = self.lengths.clone().clamp_min(1.0);
        let at =
            |place: Tensor<3>| self.places.clone().expand(all).equal(place.expand(all)).float() * self.present.clone();
        match pooling {
            Pooling::Mean => self.present.clone() / lengths,
            Pooling::WeightedMean => {
                let weights = self.places.clone().add_scalar(1.0) * self.present.clone();
                weights.mul_scalar(2.0) / (lengths.clone() * lengths.add_scalar(1.0))
            }
            Pooling::Cls => at(self.lengths.zeros_like()),
            Pooling::Last => at(self.lengths.clone().sub_scalar(1.0)),
        }
    }

    /// Token states to one vector a text.
    ///
    /// # Shapes
    /// `states` is `[texts, tokens, dim]`, the result `[texts, dim]`.
    pub(crate) fn pool(&self, states: Tensor<3>, pooling: Pooling) -> Tensor<2> {
        let [texts, _, dim] = states.dims();
        (states * self.shares(pooling)).sum_dim(1).reshape([texts, dim])
    }
}

/// Tokens that a text of this length is padded to among shorter ones.
fn bucket(length: usize) -> usize {
    length.next_multiple_of(BUCKET).max(BUCKET)
}

/// Splits a batch into groups of texts of similar length, each of at most `budget` tokens with padding (or one text), so
/// that padding and groups together cost the least: positions in the batch, longest texts first.
pub(crate) fn groups(batch: &TokenBatch, budget: usize) -> Vec<Vec<usize>> {
    let length = |at: usize| batch.offsets()[at + 1] - batch.offsets()[at];
    let mut order: Vec<usize> = (0..batch.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(length(*at)), *at));
    let padded: Vec<usize> = order.iter().map(|at| bucket(length(*at))).collect();
    // The least cost of the first so many texts, and the place at which the last of their groups begins.
    let mut least = vec![(usize::MAX, 0); order.len() + 1];
    least[0].0 = 0;
    for start in 0..order.len() {
        let cost = least[start].0;
        if cost == usize::MAX {
            continue;
        }
        let most = (budget / padded[start]).clamp(1, order.len() - start);
        // A group ends where texts become shorter, or where it is full.
        for end in (start + 1..=start + most).filter(|end| *end == start + most || padded[*end] < padded[end - 1]) {
            let cost = cost + padded[start] * (end - start) + GROUP;
            if cost < least[end].0 {
                least[end] = (cost, start);
            }
        }
    }
    let mut groups = Vec::new();
    while !order.is_empty() {
        groups.push(order.split_off(least[order.len()].1));
    }
    groups.reverse();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Padded tokens of groups, and their number.
    fn cost(batch: &TokenBatch, groups: &[Vec<usize>]) -> (usize, usize) {
        let padded =
            |group: &Vec<usize>| bucket(group.iter().map(|at| batch.text(*at).len()).max().unwrap()) * group.len();
        (groups.iter().map(padded).sum(), groups.len())
    }

    #[test]
    fn groups_hold_every_text_once_and_keep_the_budget() {
        let batch = TokenBatch::of_lengths(&[3, 40, 17, 0, 100, 16, 33, 5]);
        // 100 alone (112 padded); 40 and 33 at 48 each; 17 at 32; then four at 16.
        assert_eq!(groups(&batch, 100), [vec![4], vec![1, 6], vec![2], vec![5, 7, 0, 3]]);
        // With room for all, one group costs the least.
        assert_eq!(groups(&batch, 10_000), [[4, 1, 6, 2, 5, 7, 0, 3]]);
        assert!(groups(&TokenBatch::of_lengths(&[]), 100).is_empty());
        // Many short texts do not stand beside few long ones.
        let lengths: Vec<usize> = (0..60).map(|at| if at < 10 { 500 } else { 10 }).collect();
        let batch = TokenBatch::of_lengths(&lengths);
        assert_eq!(cost(&batch, &groups(&batch, 16_384)), (10 * 512 + 50 * 16, 2));
    }

    /// Every way to cut ten sorted texts costs as much or more.
    #[test]
    fn groups_cost_the_least() {
        for seed in 0..20usize {
            let lengths: Vec<usize> = (0..10).map(|at| (seed * 37 + at * at * 101) % 700).collect();
            let batch = TokenBatch::of_lengths(&lengths);
            let parts = groups(&batch, 1 << 20);
            let order: Vec<usize> = parts.concat();
            let in_all = |(padded, groups): (usize, usize)| padded + groups * GROUP;
            let cuts = (0..512u32).map(|cuts| {
                let mut groups = vec![vec![order[0]]];
                for (place, at) in order[1..].iter().enumerate() {
                    match cuts >> place & 1 {
                        1 => groups.push(vec![*at]),
                        _ => groups.last_mut().unwrap().push(*at),
                    }
                }
                in_all(cost(&batch, &groups))
            });
            assert_eq!(Some(in_all(cost(&batch, &parts))), cuts.min(), "{lengths:?}");
        }
    }
}
