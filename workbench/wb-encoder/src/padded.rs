//! Texts of similar length side by side on a device, the shorter ones padded.

use burn::tensor::{Device, Int, Tensor, TensorData};

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
    /// 1 / length for a token, 0 for padding: `[texts, tokens, 1]`.
    pub(crate) mean: Tensor<3>,
    /// Types of tokens, 0 where padded, `[texts, tokens]`; none where all are 0.
    pub(crate) types: Option<Tensor<2, Int>>,
    lengths: Vec<usize>,
}

impl Padded {
    /// Puts texts side by side, of which so many tokens each are attended to. `vocab` and `longest` are what the model
    /// can take.
    pub(crate) fn new(
        texts: &[&[u32]],
        keys: &[usize],
        vocab: usize,
        longest: Option<usize>,
        device: &Device,
    ) -> Result<Self> {
        let lengths: Vec<usize> = texts.iter().map(|t| t.len()).collect();
        let most = lengths.iter().copied().max().unwrap_or(0);
        if let Some(limit) = longest.filter(|limit| most > *limit) {
            let message = format!("has {most} tokens, expected at most {limit}");
            return Err(wb_core::Error::data("a text of this batch", message));
        }
        let tokens = most.next_multiple_of(BUCKET).max(BUCKET).min(longest.unwrap_or(usize::MAX));
        let mut ids = vec![0i32; texts.len() * tokens];
        let mut bias = vec![MASKED; texts.len() * tokens];
        let mut present = vec![0f32; texts.len() * tokens];
        let mut mean = vec![0f32; texts.len() * tokens];
        for (row, text) in texts.iter().enumerate() {
            for (column, id) in text.iter().enumerate() {
                if *id as usize >= vocab {
                    let message = format!("has token id {id}, expected ids below {vocab}");
                    return Err(wb_core::Error::data("a text of this batch", message));
                }
                let at = row * tokens + column;
                ids[at] = *id as i32;
                if column < keys[row] {
                    bias[at] = 0.0;
                }
                present[at] = 1.0;
                mean[at] = 1.0 / text.len() as f32;
            }
        }
        let n = texts.len();
        Ok(Self {
            texts: n,
            tokens,
            ids: Tensor::from_data(TensorData::new(ids, [n, tokens]), device),
            attention_bias: Tensor::from_data(TensorData::new(bias, [n, 1, 1, tokens]), device),
            present: Tensor::from_data(TensorData::new(present, [n, tokens, 1]), device),
            mean: Tensor::from_data(TensorData::new(mean, [n, tokens, 1]), device),
            types: None,
            lengths,
        })
    }

    /// Gives tokens their types, each text's as many as it has tokens, or none for 0; `known` is how many the model has.
    pub(crate) fn with_types(mut self, types: &[&[u32]], known: usize) -> Result<Self> {
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
        self.types = Some(Tensor::from_data(TensorData::new(all, [self.texts, self.tokens]), &self.mean.device()));
        Ok(self)
    }

    /// Token states to one vector a text.
    ///
    /// # Shapes
    /// `states` is `[texts, tokens, dim]`, the result `[texts, dim]`.
    pub(crate) fn pool(&self, states: Tensor<3>, pooling: Pooling) -> Tensor<2> {
        let [texts, tokens, dim] = states.dims();
        let share = match pooling {
            Pooling::Mean => self.mean.clone(),
            Pooling::WeightedMean | Pooling::Cls | Pooling::Last => {
                let mut shares = vec![0f32; texts * tokens];
                for (row, &length) in shares.chunks_exact_mut(tokens).zip(&self.lengths) {
                    row.iter_mut().take(length).enumerate().for_each(|(at, share)| *share = pooling.weight(at, length));
                }
                Tensor::from_data(TensorData::new(shares, [texts, tokens, 1]), &self.mean.device())
            }
        };
        (states * share).sum_dim(1).reshape([texts, dim])
    }
}

/// Splits a batch into groups of texts of similar length, each of at most `budget` tokens with padding
/// (or one text): positions in the batch, longest texts first.
pub(crate) fn groups(batch: &TokenBatch, budget: usize) -> Vec<Vec<usize>> {
    let length = |at: usize| batch.offsets()[at + 1] - batch.offsets()[at];
    let mut order: Vec<usize> = (0..batch.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(length(*at)), *at));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut padded = 0;
    for at in order {
        match groups.last_mut() {
            Some(group) if (group.len() + 1) * padded <= budget => group.push(at),
            _ => {
                padded = length(at).next_multiple_of(BUCKET).max(BUCKET);
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
        let groups = groups(&batch, 100);
        // 100 alone (112 padded); 40 and 33 at 48 each; 17 at 32, then 16, 5 make three; 3 and 0 at 16.
        assert_eq!(groups, [vec![4], vec![1, 6], vec![2, 5, 7], vec![0, 3]]);
    }
}
