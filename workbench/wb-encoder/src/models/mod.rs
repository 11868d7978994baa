//! Backbones: what they are ([`Architecture`]) and which weights they have.

pub mod activation;
pub mod bert;
pub mod decoder_shape;
pub mod gemma;
pub mod hub_keys;
pub mod modern_bert;
pub mod nomic_bert;
pub mod qwen;
pub mod score_head;
pub mod stack;
pub mod static_config;
pub mod t5;
pub mod transformer_config;
pub mod transformer_sizes;
pub mod weight_list;

use serde::{Deserialize, Serialize};

pub use activation::Activation;
pub use bert::BertConfig;
pub use decoder_shape::DecoderShape;
pub use gemma::GemmaConfig;
pub use hub_keys::HubKeys;
pub use modern_bert::ModernBertConfig;
pub use nomic_bert::NomicBertConfig;
pub use qwen::{QwenConfig, QwenVersion};
pub use score_head::{InnerActivation, InnerLayer, InnerNorm, ScoreHead, ScoredAs};
pub use stack::Stack;
pub use static_config::StaticConfig;
pub use t5::T5Config;
pub use transformer_config::{HubTokens, Transformer};
pub use transformer_sizes::TransformerSizes;
pub use weight_list::{WeightInit, WeightSpec, fresh_weight, fresh_weights};

use crate::{parameters::Parameters, pooling::Pooling};

/// Reads a hub's `config.json`.
type HubReader = fn(&HubKeys) -> crate::error::Result<Architecture>;

/// The list of transformers: a further one is a file and a line here.
macro_rules! architectures {
    ($($(#[$doc:meta])* $name:ident($config:ident),)*) => {
        /// The kind of backbone, with its sizes.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        pub enum Architecture {
            $($(#[$doc])* $name($config),)*
            /// A bag of token vectors.
            StaticEmbedding(StaticConfig),
        }

        impl Architecture {
            /// Model types of a hub's `config.json`, and what reads it.
            const HUB_READERS: &[(fn() -> &'static [&'static str], HubReader)] =
                &[$(($config::model_types, |keys| $config::from_hub(keys).map(Self::$name))),*];

            /// Its config, where it is a transformer.
            pub fn transformer(&self) -> Option<&dyn Transformer> {
                match self {
                    $(Self::$name(config) => Some(config),)*
                    Self::StaticEmbedding(_) => None,
                }
            }

            /// Its config, to change, where it is a transformer.
            pub fn transformer_mut(&mut self) -> Option<&mut dyn Transformer> {
                match self {
                    $(Self::$name(config) => Some(config),)*
                    Self::StaticEmbedding(_) => None,
                }
            }
        }
    };
}

architectures! {
    /// BERT and RoBERTa: MiniLM, BGE, CodeBERT, UniXcoder, and our own small transformers.
    Bert(BertConfig),
    /// The encoder of a T5 v1.1: XTR, sentence-T5 of that version.
    T5(T5Config),
    /// A Qwen2 or Qwen3: bge-code-v1, Qwen3-Embedding, jina-code-embeddings, nomic-embed-code.
    Qwen(QwenConfig),
    /// ModernBERT: gte-modernbert.
    ModernBert(ModernBertConfig),
    /// NomicBERT: CodeRankEmbed, nomic-embed-text.
    NomicBert(NomicBertConfig),
    /// The text part of a Gemma 3: EmbeddingGemma.
    Gemma(GemmaConfig),
}

impl Architecture {
    /// Length of an embedding.
    pub fn dim(&self) -> usize {
        match self {
            Self::StaticEmbedding(config) => config.dim,
            _ => self.stack().map_or(0, |stack| stack.width),
        }
    }

    /// Number of tokens that have a vector.
    pub fn vocab_size(&self) -> usize {
        match self {
            Self::StaticEmbedding(config) => config.vocab_size,
            _ => self.stack().map_or(0, |stack| stack.vocab_size),
        }
    }

    /// The longest text in tokens, special tokens included; `None` where any length works.
    pub fn max_tokens(&self) -> Option<usize> {
        self.stack()?.max_tokens
    }

    /// The network, where it is a transformer.
    pub fn stack(&self) -> Option<Stack> {
        self.transformer().map(Transformer::stack)
    }

    /// True where tokens see those before them alone: a decoder's.
    pub fn is_causal(&self) -> bool {
        self.stack().is_some_and(|stack| stack.layers.iter().all(|layer| layer.reach.after == 0))
    }

    /// A short description for tables: `bert 6 × 384, 12 heads`; `qwen3 28 × 1024, 16 heads on 8`, where fewer answer.
    pub fn describe(&self) -> String {
        match (self, self.transformer()) {
            (Self::StaticEmbedding(c), _) => {
                let weighted = if c.weighted { ", weighted" } else { "" };
                let placed =
                    if c.positions > 0 { format!(", {} position weights", c.positions) } else { String::new() };
                format!("static_embedding {} × {}{weighted}{placed}", c.vocab_size, c.dim)
            }
            (_, Some(config)) => {
                let (kind, Stack { layers, width, heads, .. }) = (config.kind(), config.stack());
                let on = if heads.shared < heads.count { format!(" on {}", heads.shared) } else { String::new() };
                format!("{kind} {} × {width}, {} heads{on}", layers.len(), heads.count)
            }
            (_, None) => String::new(),
        }
    }

    /// Refuses sizes that cannot be.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        match self {
            Self::StaticEmbedding(config) => config.validate(key),
            _ => self.transformer().map_or(Ok(()), |config| config.validate(key)),
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
