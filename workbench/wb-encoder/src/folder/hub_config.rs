//! The hub's `config.json` to our architectures; here that of a BERT-family model to our [`BertConfig`].

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json as value};

use super::{hub_t5, json, model_error};
use crate::{
    error::Result,
    models::{Architecture, BertConfig, HubKeys, ModernBertConfig, QwenConfig, QwenVersion},
    weights::WeightType,
};

/// The keys that decide what is computed; others describe training or tools.
#[derive(Deserialize)]
struct HubConfig {
    model_type: Option<String>,
    vocab_size: Option<usize>,
    hidden_size: Option<usize>,
    num_hidden_layers: Option<usize>,
    num_attention_heads: Option<usize>,
    intermediate_size: Option<usize>,
    max_position_embeddings: Option<usize>,
    type_vocab_size: Option<usize>,
    layer_norm_eps: Option<f64>,
    pad_token_id: Option<usize>,
    hidden_dropout_prob: Option<f64>,
    attention_probs_dropout_prob: Option<f64>,
    position_embedding_type: Option<String>,
    is_decoder: Option<bool>,
}

/// Model types that are read.
pub(crate) const MODEL_TYPES: [&str; 8] =
    ["bert", "roberta", "xlm-roberta", "camembert", "t5", "qwen2", "qwen3", "modernbert"];

/// Model types whose encoder is RoBERTa's: positions begin after the padding token's id.
const ROBERTA: [&str; 3] = ["roberta", "xlm-roberta", "camembert"];

/// Reads `config.json`.
pub(super) fn read(path: &Path) -> Result<Architecture> {
    let keys = HubKeys::read(path)?;
    match keys.text("model_type", "")?.as_str() {
        "t5" => Ok(Architecture::T5(hub_t5::read(path)?)),
        "qwen2" => Ok(Architecture::Qwen(QwenConfig::from_hub(QwenVersion::Qwen2, &keys)?)),
        "qwen3" => Ok(Architecture::Qwen(QwenConfig::from_hub(QwenVersion::Qwen3, &keys)?)),
        "modernbert" => Ok(Architecture::ModernBert(ModernBertConfig::from_hub(&keys)?)),
        _ => Ok(Architecture::Bert(bert(path)?)),
    }
}

fn bert(path: &Path) -> Result<BertConfig> {
    let hub: HubConfig = json(path)?;
    let kind = hub.model_type.as_deref().unwrap_or("");
    let roberta = ROBERTA.contains(&kind);
    if !roberta && kind != "bert" {
        return Err(model_error(
            path,
            format!("has model_type `{kind}`, expected one of {}", MODEL_TYPES.join(", ")),
            "all-MiniLM-L6-v2, the BGE models, UniXcoder, Qwen3-Embedding and gte-modernbert are of these types",
        ));
    }
    if hub.is_decoder == Some(true) && !roberta {
        return Err(model_error(path, "has is_decoder true, expected an encoder", ""));
    }
    if let Some(other) = hub.position_embedding_type.filter(|kind| kind != "absolute") {
        return Err(model_error(path, format!("has position_embedding_type `{other}`, expected absolute"), ""));
    }
    let activation = HubKeys::read(path)?.activation("hidden_act", "gelu")?;
    let need = |name: &str, value: Option<usize>| {
        value.ok_or_else(|| model_error(path, format!("has no `{name}`, expected a number"), ""))
    };
    let config = BertConfig {
        vocab_size: need("vocab_size", hub.vocab_size)?,
        hidden_size: need("hidden_size", hub.hidden_size)?,
        num_hidden_layers: need("num_hidden_layers", hub.num_hidden_layers)?,
        num_attention_heads: need("num_attention_heads", hub.num_attention_heads)?,
        intermediate_size: need("intermediate_size", hub.intermediate_size)?,
        // The defaults are transformers' own.
        max_position_embeddings: hub.max_position_embeddings.unwrap_or(512),
        type_vocab_size: hub.type_vocab_size.unwrap_or(2),
        layer_norm_eps: hub.layer_norm_eps.unwrap_or(1e-12),
        first_position: if roberta { hub.pad_token_id.unwrap_or(1) + 1 } else { 0 },
        activation,
        hidden_dropout: hub.hidden_dropout_prob.unwrap_or(0.1),
        attention_dropout: hub.attention_probs_dropout_prob.unwrap_or(0.1),
    };
    let place = path.display().to_string();
    Architecture::Bert(config.clone()).validate(&place)?;
    Ok(config)
}

/// `config.json` for transformers and whatever reads its folders.
pub(crate) fn to_json(config: &BertConfig, pad_token_id: usize, dtype: WeightType) -> Value {
    let roberta = config.first_position > 0;
    value!({
        "architectures": [if roberta { "RobertaModel" } else { "BertModel" }],
        "attention_probs_dropout_prob": config.attention_dropout,
        "classifier_dropout": null,
        // Both names of the type: transformers renamed it.
        "dtype": dtype.torch_name(),
        "hidden_act": config.activation.hub_name(),
        "hidden_dropout_prob": config.hidden_dropout,
        "hidden_size": config.hidden_size,
        "initializer_range": 0.02,
        "intermediate_size": config.intermediate_size,
        "layer_norm_eps": config.layer_norm_eps,
        "max_position_embeddings": config.max_position_embeddings,
        "model_type": if roberta { "roberta" } else { "bert" },
        "num_attention_heads": config.num_attention_heads,
        "num_hidden_layers": config.num_hidden_layers,
        "pad_token_id": pad_token_id,
        "position_embedding_type": "absolute",
        "torch_dtype": dtype.torch_name(),
        "type_vocab_size": config.type_vocab_size,
        "use_cache": true,
        "vocab_size": config.vocab_size,
    })
}
