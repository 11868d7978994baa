//! Sizes and switches of a BERT-family encoder, as in the hub's `config.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stack::{HeadSizes, LinearSpec, NormKind, NormOrder, PositionTable, Reach, Stack, StackDropout, StackLayer};

/// A BERT-family encoder. Weights are named as in `model.safetensors` without a leading `bert.` or `roberta.`:
///
/// - `embeddings.{word,position,token_type}_embeddings.weight`, `embeddings.LayerNorm.{weight,bias}`;
/// - `encoder.layer.N.attention.self.{query,key,value}.{weight,bias}`,
///   `encoder.layer.N.attention.output.dense.{weight,bias}`, `encoder.layer.N.attention.output.LayerNorm.{weight,bias}`;
/// - `encoder.layer.N.intermediate.dense.{weight,bias}`, `encoder.layer.N.output.dense.{weight,bias}`,
///   `encoder.layer.N.output.LayerNorm.{weight,bias}`.
///
/// Adapters stand beside the weight they adapt: `encoder.layer.N.attention.self.query.lora_A.weight` (`[rank, in]`)
/// and `...lora_B.weight` (`[out, rank]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BertConfig {
    /// Rows of the word embedding.
    pub vocab_size: usize,
    /// Width of the stream.
    pub hidden_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Number of attention heads; divides `hidden_size`.
    pub num_attention_heads: usize,
    /// Width of the feed-forward layer.
    pub intermediate_size: usize,
    /// Rows of the position embedding (RoBERTa's has `pad_token_id + 1` rows that no token uses).
    pub max_position_embeddings: usize,
    /// Rows of the token-type embedding; every token has type 0 here.
    pub type_vocab_size: usize,
    /// Added to the variance in layer normalization.
    pub layer_norm_eps: f64,
    /// Position of the first token: 0 for BERT, `pad_token_id + 1` for RoBERTa.
    pub first_position: usize,
    /// The feed-forward layer's activation.
    pub activation: Activation,
    /// Dropout on embeddings, attention output and feed-forward output while training.
    pub hidden_dropout: f64,
    /// Dropout on attention probabilities while training.
    pub attention_dropout: f64,
}

impl BertConfig {
    /// The network that these sizes describe.
    pub fn stack(&self) -> Stack {
        let (hidden, wide) = (self.hidden_size, self.intermediate_size);
        let size = hidden / self.num_attention_heads.max(1);
        let layer = |layer: usize| {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            let linear = |part: &str, inputs, outputs| LinearSpec { name: name(part), inputs, outputs, bias: true };
            StackLayer {
                attention_norm: Some(name("attention.output.LayerNorm")),
                projections: ["query", "key", "value"]
                    .map(|part| linear(&format!("attention.self.{part}"), hidden, hidden))
                    .into(),
                head_norms: None,
                rotary: None,
                reach: Reach::ALL,
                attention_output: linear("attention.output.dense", hidden, hidden),
                feed_forward_norm: name("output.LayerNorm"),
                inner: vec![linear("intermediate.dense", hidden, wide)],
                output: linear("output.dense", wide, hidden),
            }
        };
        Stack {
            vocab_size: self.vocab_size,
            width: hidden,
            max_tokens: Some(self.max_position_embeddings.saturating_sub(self.first_position)),
            heads: HeadSizes::plain(self.num_attention_heads, size),
            wide,
            gated: false,
            activation: self.activation,
            norm: NormKind::Layer { shift: true },
            epsilon: self.layer_norm_eps,
            order: NormOrder::After,
            words: "embeddings.word_embeddings.weight".into(),
            positions: Some(PositionTable {
                name: "embeddings.position_embeddings.weight".into(),
                rows: self.max_position_embeddings,
                first: self.first_position,
            }),
            token_types: Some(("embeddings.token_type_embeddings.weight".into(), self.type_vocab_size)),
            embedding_norm: Some("embeddings.LayerNorm".into()),
            distances: None,
            layers: (0..self.num_hidden_layers).map(layer).collect(),
            final_norm: None,
            dropout: StackDropout {
                embeddings: self.hidden_dropout,
                attention: self.attention_dropout,
                attention_output: self.hidden_dropout,
                output: self.hidden_dropout,
                ..StackDropout::default()
            },
        }
    }
}

#[cfg(test)]
impl BertConfig {
    /// Sizes small enough to compute by differences.
    pub(crate) fn tiny(dropout: f64) -> Self {
        Self {
            vocab_size: 50,
            hidden_size: 24,
            num_hidden_layers: 2,
            num_attention_heads: 3,
            intermediate_size: 40,
            max_position_embeddings: 40,
            type_vocab_size: 2,
            layer_norm_eps: 1e-5,
            first_position: 0,
            activation: Activation::Gelu,
            hidden_dropout: dropout,
            attention_dropout: dropout,
        }
    }
}

/// Activation of the feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// x·Φ(x) with the error function; hub name `gelu`.
    Gelu,
    /// The tanh approximation; hub names `gelu_new`, `gelu_pytorch_tanh`.
    GeluTanh,
    /// max(x, 0); hub name `relu`.
    Relu,
    /// x / (1 + exp(-x)); hub name `silu`.
    Silu,
}

impl Activation {
    /// Names in transformers, of each activation first the one that is written.
    pub const HUB_NAMES: [(&str, Self); 6] = [
        ("gelu", Self::Gelu),
        ("gelu_new", Self::GeluTanh),
        ("gelu_pytorch_tanh", Self::GeluTanh),
        ("gelu_fast", Self::GeluTanh),
        ("relu", Self::Relu),
        ("silu", Self::Silu),
    ];

    /// The activation of a name.
    pub fn of_hub(name: &str) -> Option<Self> {
        Self::HUB_NAMES.iter().find(|(known, _)| *known == name).map(|(_, activation)| *activation)
    }

    /// Its name.
    pub fn hub_name(self) -> &'static str {
        Self::HUB_NAMES.iter().find(|(_, activation)| *activation == self).map_or("gelu", |(name, _)| name)
    }
}
