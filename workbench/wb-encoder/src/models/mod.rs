//! Backbones: what they are ([`Architecture`]), which weights they have, and how they compute in burn's tensors.

pub mod bert_config;
pub mod hub_keys;
pub mod modern_bert;
pub mod qwen;
pub mod stack;
pub mod static_config;
#[cfg(feature = "burn")]
pub(crate) mod static_embedding;
pub mod t5_config;
#[cfg(feature = "burn")]
pub(crate) mod transformer;
pub mod weight_list;

use std::fmt::Display;

use serde::{Deserialize, Serialize};

pub use bert_config::{Activation, BertConfig};
pub use hub_keys::HubKeys;
pub use modern_bert::ModernBertConfig;
pub use qwen::{QwenConfig, QwenVersion};
pub use stack::Stack;
pub use static_config::StaticConfig;
pub use t5_config::T5Config;
pub use weight_list::{WeightInit, WeightSpec, fresh_weight};

use crate::{error::expect_value, parameters::Parameters, pooling::Pooling};

/// The kind of backbone, with its sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Architecture {
    /// BERT and RoBERTa: MiniLM, BGE, CodeBERT, UniXcoder, and our own small transformers.
    Bert(BertConfig),
    /// The encoder of a T5 v1.1: XTR, sentence-T5 of that version.
    T5(T5Config),
    /// A Qwen2 or Qwen3: bge-code-v1, Qwen3-Embedding, jina-code-embeddings, nomic-embed-code.
    Qwen(QwenConfig),
    /// ModernBERT: gte-modernbert.
    ModernBert(ModernBertConfig),
    /// A bag of token vectors.
    StaticEmbedding(StaticConfig),
}

impl Architecture {
    /// Length of an embedding.
    pub fn dim(&self) -> usize {
        match self {
            Self::Bert(config) => config.hidden_size,
            Self::T5(config) => config.d_model,
            Self::Qwen(config) => config.hidden_size,
            Self::ModernBert(config) => config.hidden_size,
            Self::StaticEmbedding(config) => config.dim,
        }
    }

    /// Number of tokens that have a vector.
    pub fn vocab_size(&self) -> usize {
        match self {
            Self::Bert(config) => config.vocab_size,
            Self::T5(config) => config.vocab_size,
            Self::Qwen(config) => config.vocab_size,
            Self::ModernBert(config) => config.vocab_size,
            Self::StaticEmbedding(config) => config.vocab_size,
        }
    }

    /// The longest text in tokens, special tokens included; `None` where any length works.
    pub fn max_tokens(&self) -> Option<usize> {
        match self {
            Self::Bert(config) => Some(config.max_position_embeddings.saturating_sub(config.first_position)),
            Self::Qwen(config) => Some(config.max_position_embeddings),
            Self::ModernBert(config) => Some(config.max_position_embeddings),
            Self::T5(_) | Self::StaticEmbedding(_) => None,
        }
    }

    /// The network, where it is a transformer.
    pub fn stack(&self) -> Option<Stack> {
        match self {
            Self::Bert(config) => Some(config.stack()),
            Self::T5(config) => Some(config.stack()),
            Self::Qwen(config) => Some(config.stack()),
            Self::ModernBert(config) => Some(config.stack()),
            Self::StaticEmbedding(_) => None,
        }
    }

    /// A short description for tables: `bert 6 × 384, 12 heads`.
    pub fn describe(&self) -> String {
        match self {
            Self::Bert(c) => {
                format!("bert {} × {}, {} heads", c.num_hidden_layers, c.hidden_size, c.num_attention_heads)
            }
            Self::T5(c) => format!("t5 {} × {}, {} heads", c.num_layers, c.d_model, c.num_heads),
            Self::Qwen(c) => {
                let (kind, layers, asked) = (c.version.name(), c.num_hidden_layers, c.num_key_value_heads);
                format!("{kind} {layers} × {}, {} heads on {asked}", c.hidden_size, c.num_attention_heads)
            }
            Self::ModernBert(c) => {
                format!("modernbert {} × {}, {} heads", c.num_hidden_layers, c.hidden_size, c.num_attention_heads)
            }
            Self::StaticEmbedding(c) => {
                let weighted = if c.weighted { ", weighted" } else { "" };
                let placed =
                    if c.positions > 0 { format!(", {} position weights", c.positions) } else { String::new() };
                format!("static_embedding {} × {}{weighted}{placed}", c.vocab_size, c.dim)
            }
        }
    }

    /// Refuses sizes that cannot be.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let expect = |name: &str, value: &dyn Display, fine: bool, expected: &str| {
            expect_value(format!("{key}.{name}"), value, fine, expected)
        };
        let positive = |name: &str, value: usize| expect(name, &value, value > 0, "at least 1");
        match self {
            Self::T5(c) => c.validate(key),
            Self::Qwen(c) => c.validate(key),
            Self::ModernBert(c) => c.validate(key),
            Self::StaticEmbedding(c) => {
                positive("vocab_size", c.vocab_size)?;
                positive("dim", c.dim)
            }
            Self::Bert(c) => {
                positive("vocab_size", c.vocab_size)?;
                positive("hidden_size", c.hidden_size)?;
                positive("num_hidden_layers", c.num_hidden_layers)?;
                positive("num_attention_heads", c.num_attention_heads)?;
                positive("intermediate_size", c.intermediate_size)?;
                positive("type_vocab_size", c.type_vocab_size)?;
                let (heads, positions) = (c.num_attention_heads, c.max_position_embeddings);
                let expected = format!("a divisor of hidden_size {}", c.hidden_size);
                expect("num_attention_heads", &heads, c.hidden_size.is_multiple_of(heads), &expected)?;
                let expected = format!("more than the first position {}", c.first_position);
                expect("max_position_embeddings", &positions, positions > c.first_position, &expected)?;
                for (name, value) in [("hidden_dropout", c.hidden_dropout), ("attention_dropout", c.attention_dropout)]
                {
                    expect(name, &value, (0.0..1.0).contains(&value), "at least 0 and less than 1")?;
                }
                let epsilon = c.layer_norm_eps;
                let is_fine = epsilon > 0.0 && epsilon.is_finite();
                expect("layer_norm_eps", &epsilon, is_fine, "a small positive number")
            }
        }
    }
}

/// An architecture with its weights: what a device is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The kind of backbone, with its sizes.
    pub architecture: Architecture,
    /// Its weights, adapters among them where there are any.
    pub parameters: Parameters,
    /// From token states to one vector; a bag of token vectors does not use it.
    pub pooling: Pooling,
    /// Scales of the adapters, where there are any.
    pub adapter: Option<crate::lora::Adapter>,
}
