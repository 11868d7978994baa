//! The hub's `config.json` of a T5 to our [`T5Config`].

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json as value};

use super::{json, model_error};
use crate::{error::Result, models::T5Config, weights::WeightType};

/// The keys that decide what an encoder computes; others describe the decoder, training or tools.
#[derive(Deserialize)]
struct HubConfig {
    vocab_size: Option<usize>,
    d_model: Option<usize>,
    d_kv: Option<usize>,
    d_ff: Option<usize>,
    num_layers: Option<usize>,
    num_heads: Option<usize>,
    relative_attention_num_buckets: Option<usize>,
    relative_attention_max_distance: Option<usize>,
    layer_norm_epsilon: Option<f64>,
    dropout_rate: Option<f64>,
    feed_forward_proj: Option<String>,
    dense_act_fn: Option<String>,
    is_decoder: Option<bool>,
}

/// The activation before the gate.
const ACTIVATION: &str = "gelu_new";
/// transformers' name of a GELU in its tanh form with a gate.
const GATED: &str = "gated-gelu";

/// Reads `config.json`, whose `model_type` is t5.
pub(super) fn read(path: &Path) -> Result<T5Config> {
    let hub: HubConfig = json(path)?;
    let need = |name: &str, value: Option<usize>| {
        value.ok_or_else(|| model_error(path, format!("has no `{name}`, expected a number"), ""))
    };
    if hub.is_decoder == Some(true) {
        return Err(model_error(path, "has is_decoder true, expected an encoder", ""));
    }
    // transformers' default is the first version's.
    let feed_forward = hub.feed_forward_proj.as_deref().unwrap_or("relu");
    if feed_forward != GATED {
        let message = format!("has feed_forward_proj `{feed_forward}`, expected {GATED}");
        return Err(model_error(
            path,
            message,
            "T5 v1.1 and what was made of it, such as XTR, have one; T5 v1.0 has not",
        ));
    }
    if let Some(other) = hub.dense_act_fn.filter(|name| name != ACTIVATION) {
        return Err(model_error(path, format!("has dense_act_fn `{other}`, expected {ACTIVATION}"), ""));
    }
    let num_heads = need("num_heads", hub.num_heads)?;
    let config = T5Config {
        vocab_size: need("vocab_size", hub.vocab_size)?,
        d_model: need("d_model", hub.d_model)?,
        d_kv: need("d_kv", hub.d_kv)?,
        d_ff: need("d_ff", hub.d_ff)?,
        num_layers: need("num_layers", hub.num_layers)?,
        num_heads,
        // The defaults are transformers' own; older files have no largest distance.
        relative_attention_num_buckets: hub.relative_attention_num_buckets.unwrap_or(32),
        relative_attention_max_distance: hub.relative_attention_max_distance.unwrap_or(128),
        layer_norm_epsilon: hub.layer_norm_epsilon.unwrap_or(1e-6),
        dropout_rate: hub.dropout_rate.unwrap_or(0.1),
    };
    config.validate(&path.display().to_string())?;
    Ok(config)
}

/// `config.json` for transformers and whatever reads its folders.
pub(crate) fn to_json(config: &T5Config, pad_token_id: usize, eos_token_id: Option<u32>, dtype: WeightType) -> Value {
    value!({
        "architectures": ["T5EncoderModel"],
        "d_ff": config.d_ff,
        "d_kv": config.d_kv,
        "d_model": config.d_model,
        "decoder_start_token_id": pad_token_id,
        "dense_act_fn": ACTIVATION,
        "dropout_rate": config.dropout_rate,
        // Both names of the type: transformers renamed it.
        "dtype": dtype.torch_name(),
        "eos_token_id": eos_token_id,
        "feed_forward_proj": GATED,
        "initializer_factor": 1.0,
        "is_encoder_decoder": true,
        "is_gated_act": true,
        "layer_norm_epsilon": config.layer_norm_epsilon,
        "model_type": "t5",
        "num_decoder_layers": config.num_layers,
        "num_heads": config.num_heads,
        "num_layers": config.num_layers,
        "pad_token_id": pad_token_id,
        "relative_attention_max_distance": config.relative_attention_max_distance,
        "relative_attention_num_buckets": config.relative_attention_num_buckets,
        "tie_word_embeddings": false,
        "torch_dtype": dtype.torch_name(),
        "use_cache": true,
        "vocab_size": config.vocab_size,
    })
}
