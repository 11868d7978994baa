//! BERT (Devlin et al. 2018, arXiv 1810.04805) and RoBERTa (Liu et al. 2019, arXiv 1907.11692) in burn's tensors.
//!
//! Post-norm layers, learned positions, bidirectional attention; equal to transformers' `BertModel` without its pooler.

use burn::tensor::{Tensor, activation, module};

use super::bert_config::{Activation, BertConfig};
use crate::{
    device_weights::Pass,
    dropout::{ATTENTION, ATTENTION_OUTPUT, EMBEDDINGS, OUTPUT, SITES},
    error::Result,
    padded::Padded,
};

/// Token states after the last layer.
///
/// # Shapes
/// `[texts, tokens, hidden_size]`
pub(crate) fn forward(config: &BertConfig, pass: &Pass<'_>, batch: &Padded) -> Result<Tensor<3>> {
    let (texts, tokens, width) = (batch.texts, batch.tokens, config.hidden_size);
    let mut x = embeddings(config, pass, batch)?;
    if pass.weights.iter().any(crate::device_weights::Weight::is_tracked) && !x.is_tracked() {
        // On some devices gradients are not numbers where only adapters are tracked (burn issue 5162);
        // with the layers' input tracked they are right. On others it costs a little.
        x = x.autodiff().require_grad();
    }
    for layer in 0..config.num_hidden_layers {
        x = attention(config, pass, batch, layer, x)?;
        x = feed_forward(config, pass, layer, x)?;
    }
    Ok(x.reshape([texts, tokens, width]))
}

/// Word, position and type embeddings, summed and normalized: `[texts · tokens, hidden_size]`.
fn embeddings(config: &BertConfig, pass: &Pass<'_>, batch: &Padded) -> Result<Tensor<2>> {
    let (texts, tokens, width) = (batch.texts, batch.tokens, config.hidden_size);
    let words = module::embedding(pass.weights.matrix("embeddings.word_embeddings.weight")?, batch.ids.clone());
    let first = config.first_position;
    let positions =
        pass.weights.matrix("embeddings.position_embeddings.weight")?.slice([first..first + tokens, 0..width]);
    let types = pass.weights.matrix("embeddings.token_type_embeddings.weight")?.slice([0..1, 0..width]);
    let sum = words + (positions + types).unsqueeze::<3>();
    let x = pass.layer_norm("embeddings.LayerNorm", sum.reshape([texts * tokens, width]), config.layer_norm_eps)?;
    Ok(pass.drop(x, EMBEDDINGS, config.hidden_dropout))
}

fn attention(config: &BertConfig, pass: &Pass<'_>, batch: &Padded, layer: usize, x: Tensor<2>) -> Result<Tensor<2>> {
    let (texts, tokens, width, heads) = (batch.texts, batch.tokens, config.hidden_size, config.num_attention_heads);
    let name = |part: &str| format!("encoder.layer.{layer}.attention.{part}");
    let split = |x: Tensor<2>| x.reshape([texts, tokens, heads, width / heads]).swap_dims(1, 2);
    let query = split(pass.linear(&name("self.query"), x.clone())?);
    let key = split(pass.linear(&name("self.key"), x.clone())?);
    let value = split(pass.linear(&name("self.value"), x.clone())?);
    let scale = 1.0 / ((width / heads) as f64).sqrt();
    let scores = query.matmul(key.transpose()).mul_scalar(scale) + batch.attention_bias.clone();
    let probabilities =
        pass.drop_attention(activation::softmax(scores, 3), site(layer, ATTENTION), config.attention_dropout);
    let context = probabilities.matmul(value).swap_dims(1, 2).reshape([texts * tokens, width]);
    let out = pass.linear(&name("output.dense"), context)?;
    let out = pass.drop(out, site(layer, ATTENTION_OUTPUT), config.hidden_dropout);
    pass.layer_norm(&name("output.LayerNorm"), out + x, config.layer_norm_eps)
}

fn feed_forward(config: &BertConfig, pass: &Pass<'_>, layer: usize, x: Tensor<2>) -> Result<Tensor<2>> {
    let name = |part: &str| format!("encoder.layer.{layer}.{part}");
    let inner = pass.linear(&name("intermediate.dense"), x.clone())?;
    let inner = match config.activation {
        Activation::Gelu => activation::gelu(inner),
        Activation::GeluTanh => activation::gelu_approximate(inner),
        Activation::Relu => activation::relu(inner),
        Activation::Silu => activation::silu(inner),
    };
    let out = pass.linear(&name("output.dense"), inner)?;
    let out = pass.drop(out, site(layer, OUTPUT), config.hidden_dropout);
    pass.layer_norm(&name("output.LayerNorm"), out + x, config.layer_norm_eps)
}

fn site(layer: usize, place: u64) -> u64 {
    SITES * (layer as u64 + 1) + place
}
