//! A bag of token vectors in burn's tensors.

use burn::tensor::{Tensor, activation, module};

use super::{padded::Padded, pass::Pass};
use crate::{error::Result, models::StaticConfig, pooling::Pooling};

/// The weighted mean of a text's token vectors (zeros for a text without tokens), and the vectors.
///
/// # Shapes
/// `[texts, dim]` and `[texts, tokens, dim]`
pub(crate) fn forward(config: &StaticConfig, pass: &Pass<'_>, batch: &Padded) -> Result<(Tensor<2>, Tensor<3>)> {
    let (texts, tokens) = (batch.texts, batch.tokens);
    let vectors = module::embedding(pass.weights.matrix("embeddings.weight")?, batch.ids.clone());
    let share: Tensor<3> = if config.weighted || config.positions > 0 {
        let mut logits = Tensor::<2>::zeros([texts, tokens], &vectors.device());
        if config.weighted {
            let column = pass.weights.vector("token_weights")?.reshape([config.vocab_size, 1]);
            logits = logits + module::embedding(column, batch.ids.clone()).reshape([texts, tokens]);
        }
        if config.positions > 0 {
            let column = pass.weights.vector("position_weights")?.reshape([config.positions, 1]);
            let buckets: Vec<i32> = (0..tokens).map(|place| config.bucket(place) as i32).collect();
            logits = logits + module::embedding(column, pass.link.ints(buckets, [1, tokens])).reshape([1, tokens]);
        }
        // exp(w) over its sum is the softmax; padding has no share, and a text of padding only has none at all.
        let bias = batch.attention_bias.clone().reshape([texts, tokens]);
        let share = activation::softmax(logits + bias, 1) * batch.present.clone().reshape([texts, tokens]);
        share.reshape([texts, tokens, 1])
    } else {
        batch.shares(Pooling::Mean)
    };
    let pooled = (vectors.clone() * share).sum_dim(1).reshape([texts, config.dim]);
    Ok((pooled, vectors))
}
