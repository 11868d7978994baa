//! Sizes that nearly all transformers have, called as in the hub's `config.json`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::HubKeys;
use crate::error::{Result, expect_value};

/// Sizes of a transformer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransformerSizes {
    /// Rows of the token embedding.
    pub vocab_size: usize,
    /// Width of the stream.
    pub hidden_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Number of attention heads.
    pub num_attention_heads: usize,
    /// Width of the feed-forward layer.
    pub intermediate_size: usize,
    /// Number of places: the longest text, in tokens, or one that it was made for.
    pub max_position_embeddings: usize,
}

impl TransformerSizes {
    /// Reads a hub's `config.json`, which need not say the number of places.
    pub fn from_hub(hub: &HubKeys, places: usize) -> Result<Self> {
        Ok(Self {
            vocab_size: hub.size("vocab_size")?,
            hidden_size: hub.size("hidden_size")?,
            num_hidden_layers: hub.size("num_hidden_layers")?,
            num_attention_heads: hub.size("num_attention_heads")?,
            intermediate_size: hub.size("intermediate_size")?,
            max_position_embeddings: hub.size_if("max_position_embeddings")?.unwrap_or(places),
        })
    }

    /// Adds them to the other keys of a `config.json`.
    pub fn to_hub(self, mut others: Value) -> Value {
        if let (Value::Object(all), Value::Object(sizes)) = (&mut others, json!(self)) {
            all.extend(sizes);
        }
        others
    }

    /// Refuses zeros.
    pub fn validate(&self, key: &str) -> Result<()> {
        for (name, size) in [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("intermediate_size", self.intermediate_size),
            ("max_position_embeddings", self.max_position_embeddings),
        ] {
            expect_value(format!("{key}.{name}"), size, size > 0, "at least 1")?;
        }
        Ok(())
    }
}
