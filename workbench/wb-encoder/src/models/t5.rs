//! The encoder of T5 v1.1 (Raffel et al. 2020, arXiv 1910.10683) in burn's tensors; equal to transformers' `T5EncoderModel`.
//!
//! Pre-norm layers, normalized by the mean square alone; attention scores that are not divided by anything, with a learned
//! number for each head and bucket of distances added; a gated GELU between the feed-forward products.

use burn::tensor::{Int, Tensor, TensorData, activation, module};

use super::t5_config::T5Config;
use crate::{
    device_weights::Pass,
    dropout::{ATTENTION, ATTENTION_OUTPUT, EMBEDDINGS, INNER, OUTPUT, SITES, STATES},
    error::Result,
    padded::Padded,
};

/// Token states after the last normalization.
///
/// # Shapes
/// `[texts, tokens, d_model]`
pub(crate) fn forward(config: &T5Config, pass: &Pass<'_>, batch: &Padded) -> Result<Tensor<3>> {
    let (texts, tokens, width) = (batch.texts, batch.tokens, config.d_model);
    let words = module::embedding(pass.weights.matrix("shared.weight")?, batch.ids.clone());
    let mut x = pass.drop(words.reshape([texts * tokens, width]), EMBEDDINGS, config.dropout_rate);
    if pass.weights.iter().any(crate::device_weights::Weight::is_tracked) && !x.is_tracked() {
        // As for BERT: on some devices gradients are not numbers where only adapters are tracked (burn issue 5162).
        x = x.autodiff().require_grad();
    }
    let bias = position_bias(config, pass, batch)? + batch.attention_bias.clone();
    for layer in 0..config.num_layers {
        x = attention(config, pass, batch, layer, &bias, x)?;
        x = feed_forward(config, pass, layer, x)?;
    }
    let x = pass.rms_norm("encoder.final_layer_norm", x, config.layer_norm_epsilon)?;
    Ok(pass.drop(x, STATES, config.dropout_rate).reshape([texts, tokens, width]))
}

/// The bias that is added to the scores of all layers: `[1, heads, queries, keys]`.
fn position_bias(config: &T5Config, pass: &Pass<'_>, batch: &Padded) -> Result<Tensor<4>> {
    let tokens = batch.tokens;
    let table = pass.weights.matrix("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")?;
    let longest = tokens as isize - 1;
    let distances = config.distances();
    let of_distance: Vec<i32> = (-longest..=longest).map(|distance| distances.bucket(distance) as i32).collect();
    let buckets: Vec<i32> =
        (0..tokens).flat_map(|query| of_distance[tokens - 1 - query..][..tokens].iter().copied()).collect();
    let buckets = TensorData::new(buckets, [1, tokens * tokens]);
    let buckets = Tensor::<2, Int>::from_data(buckets, &batch.present.device());
    let bias = module::embedding(table, buckets).reshape([1, tokens, tokens, config.num_heads]);
    Ok(bias.permute([0, 3, 1, 2]))
}

fn attention(
    config: &T5Config,
    pass: &Pass<'_>,
    batch: &Padded,
    layer: usize,
    bias: &Tensor<4>,
    x: Tensor<2>,
) -> Result<Tensor<2>> {
    let (texts, tokens, heads) = (batch.texts, batch.tokens, config.num_heads);
    let name = |part: &str| format!("encoder.block.{layer}.layer.0.{part}");
    let unit = pass.rms_norm(&name("layer_norm"), x.clone(), config.layer_norm_epsilon)?;
    let split = |x: Tensor<2>| x.reshape([texts, tokens, heads, config.d_kv]).swap_dims(1, 2);
    let query = split(pass.product(&name("SelfAttention.q"), unit.clone())?);
    let key = split(pass.product(&name("SelfAttention.k"), unit.clone())?);
    let value = split(pass.product(&name("SelfAttention.v"), unit)?);
    let scores = query.matmul(key.transpose()) + bias.clone();
    let probabilities =
        pass.drop_attention(activation::softmax(scores, 3), site(layer, ATTENTION), config.dropout_rate);
    let context = probabilities.matmul(value).swap_dims(1, 2).reshape([texts * tokens, config.inner()]);
    let out = pass.product(&name("SelfAttention.o"), context)?;
    Ok(x + pass.drop(out, site(layer, ATTENTION_OUTPUT), config.dropout_rate))
}

fn feed_forward(config: &T5Config, pass: &Pass<'_>, layer: usize, x: Tensor<2>) -> Result<Tensor<2>> {
    let name = |part: &str| format!("encoder.block.{layer}.layer.1.{part}");
    let unit = pass.rms_norm(&name("layer_norm"), x.clone(), config.layer_norm_epsilon)?;
    let gate = activation::gelu_approximate(pass.product(&name("DenseReluDense.wi_0"), unit.clone())?);
    let inner = gate * pass.product(&name("DenseReluDense.wi_1"), unit)?;
    let inner = pass.drop(inner, site(layer, INNER), config.dropout_rate);
    let out = pass.product(&name("DenseReluDense.wo"), inner)?;
    Ok(x + pass.drop(out, site(layer, OUTPUT), config.dropout_rate))
}

fn site(layer: usize, place: u64) -> u64 {
    SITES * (layer as u64 + 1) + place
}
