//! Texts of similar length side by side on a device, the shorter ones padded.

use burn::tensor::{Int, Tensor};

use super::traffic::Link;
use crate::{batch::TokenBatch, error::Result, pooling::Pooling};

/// Lengths are padded to multiples of this: few shapes for devices that compile a kernel for each,
/// and none that some of them compute wrongly (burn issue 5352).
const BUCKET: usize = 16;

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
        let tokens = most.next_multiple_of(BUCKET).max(BUCKET).min(longest.unwrap_or(usize::MAX));
        let n = texts.len();
        let mut ids = vec![0i32; n * tokens];
        for (row, text) in ids.chunks_exact_mut(tokens.max(1)).zip(texts) {
            if let Some(id) = text.iter().find(|id| **id as usize >= vocab) {
                let message = format!("has token id {id}, expected ids below {vocab}");
                return Err(wb_core::Error::data("a text of this batch", message));
            }
            row.iter_mut().zip(*text).for_each(|(to, id)| *to = *id as i32);
        }
        // What follows from the lengths is made where it is needed, and does not cross.
        let lengths = link.floats(texts.iter().map(|text| text.len() as f32).collect(), [n, 1, 1]);
        let keys = link.floats(keys.iter().map(|keys| *keys as f32).collect(), [n, 1, 1]);
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

/// Splits a batch into groups of texts of similar length, each of at most `budget` tokens with padding (or one text):
/// positions in the batch, longest texts first. No text is padded to more than twice its own bucket.
pub(crate) fn groups(batch: &TokenBatch, budget: usize) -> Vec<Vec<usize>> {
    let length = |at: usize| batch.offsets()[at + 1] - batch.offsets()[at];
    let bucket = |at: usize| length(at).next_multiple_of(BUCKET).max(BUCKET);
    let mut order: Vec<usize> = (0..batch.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(length(*at)), *at));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut padded = 0;
    for at in order {
        match groups.last_mut() {
            Some(group) if (group.len() + 1) * padded <= budget && padded <= 2 * bucket(at) => group.push(at),
            _ => {
                padded = bucket(at);
                groups.push(vec![at]);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_every_text_once_and_keep_the_budget() {
        let lengths = [3usize, 40, 17, 0, 100, 16, 33, 5];
        let texts: Vec<Vec<u32>> = lengths.iter().map(|n| vec![1; *n]).collect();
        let batch = TokenBatch::new(texts.iter().map(Vec::as_slice));
        let groups = super::groups(&batch, 100);
        // 100 alone (112 padded); 40 and 33 at 48 each; 17 at 32, then 16, 5 make three; 3 and 0 at 16.
        assert_eq!(groups, [vec![4], vec![1, 6], vec![2, 5, 7], vec![0, 3]]);
        // With room for all: 112, and 48 is less than half of it; 32 and 16 stand by each other.
        assert_eq!(super::groups(&batch, 10_000), [vec![4], vec![1, 6, 2], vec![5, 7, 0, 3]]);
    }
}
