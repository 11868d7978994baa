//! Sizes and switches that decoders of today have, called as in the hub's `config.json`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{HubKeys, TransformerSizes, stack::HeadSizes};
use crate::error::{Result, expect_value};

/// Sizes of a decoder whose heads share keys and values, with rotary positions and normalization by the mean square.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecoderShape {
    /// Sizes; the heads are those that ask.
    #[serde(flatten)]
    pub sizes: TransformerSizes,
    /// Number of heads that answer; divides `num_attention_heads`.
    pub num_key_value_heads: usize,
    /// Numbers of a head; even.
    pub head_dim: usize,
    /// Added to the mean square in normalization.
    pub rms_norm_eps: f64,
    /// Base of the rotary positions of layers that look at the whole text.
    pub rope_theta: f64,
    /// Dropout on attention probabilities while training.
    pub attention_dropout: f64,
}

impl DecoderShape {
    /// Heads that share keys and values.
    pub fn heads(&self) -> HeadSizes {
        let plain = HeadSizes::plain(self.sizes.num_attention_heads, self.head_dim);
        HeadSizes { shared: self.num_key_value_heads, ..plain }
    }

    /// Reads what all decoders call alike from a hub's `config.json`, beside what they do not.
    pub fn from_hub(
        hub: &HubKeys,
        sizes: TransformerSizes,
        num_key_value_heads: usize,
        head_dim: usize,
        rope_theta: f64,
    ) -> Result<Self> {
        Ok(Self {
            sizes,
            num_key_value_heads: hub.size_if("num_key_value_heads")?.unwrap_or(num_key_value_heads),
            head_dim: hub.size_if("head_dim")?.unwrap_or(head_dim),
            rms_norm_eps: hub.real("rms_norm_eps", 1e-6)?,
            rope_theta,
            attention_dropout: hub.real("attention_dropout", 0.0)?,
        })
    }

    /// Adds them to the other keys of a `config.json`.
    pub fn to_hub(self, mut others: Value) -> Value {
        if let (Value::Object(all), Value::Object(sizes)) = (&mut others, json!(self)) {
            all.extend(sizes);
        }
        others
    }

    /// Refuses heads that cannot turn.
    pub fn validate(&self, key: &str) -> Result<()> {
        let head_dim = self.head_dim;
        expect_value(format!("{key}.head_dim"), head_dim, head_dim.is_multiple_of(2), "an even number")
    }
}
