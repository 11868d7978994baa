//! Qwen2 and Qwen3 as encoders: bge-code-v1, Qwen3-Embedding, jina-code-embeddings, nomic-embed-code.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Activation,
    hub_keys::HubKeys,
    stack::{HeadSizes, LinearSpec, NormKind, NormOrder, Reach, Rotary, Stack, StackDropout, StackLayer},
};
use crate::{
    error::{Result, expect_value},
    weights::WeightType,
};

/// A Qwen2 (arXiv 2407.10671) or Qwen3 (arXiv 2505.09388) without its language head: a decoder, whose tokens see those
/// before them. Weights are named as in `model.safetensors` without a leading `model.`:
///
/// - `embed_tokens.weight`;
/// - `layers.N.self_attn.{q,k,v,o}_proj.weight`, and `...{q,k,v}_proj.bias` in a Qwen2;
///   `layers.N.self_attn.{q,k}_norm.weight`, `[head_dim]`, in a Qwen3;
/// - `layers.N.mlp.{gate,up,down}_proj.weight`;
/// - `layers.N.{input_layernorm,post_attention_layernorm}.weight`, and `norm.weight`.
///
/// Equal to transformers' `Qwen2Model` and `Qwen3Model`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QwenConfig {
    /// Which of the two it is.
    pub version: QwenVersion,
    /// Rows of the token embedding.
    pub vocab_size: usize,
    /// Width of the stream.
    pub hidden_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Number of heads that ask.
    pub num_attention_heads: usize,
    /// Number of heads that answer; divides `num_attention_heads`.
    pub num_key_value_heads: usize,
    /// Numbers of a head; even.
    pub head_dim: usize,
    /// Width of the feed-forward layer.
    pub intermediate_size: usize,
    /// The longest text that it was made for, in tokens.
    pub max_position_embeddings: usize,
    /// Added to the mean square in normalization.
    pub rms_norm_eps: f64,
    /// Base of the rotary positions.
    pub rope_theta: f64,
    /// Dropout on attention probabilities while training.
    pub attention_dropout: f64,
}

/// A generation of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QwenVersion {
    /// Query, key and value have a bias.
    Qwen2,
    /// Each head's query and key is normalized.
    Qwen3,
}

impl QwenVersion {
    /// The hub's `model_type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
        }
    }
}

impl QwenConfig {
    /// Reads a `config.json`.
    pub fn from_hub(version: QwenVersion, hub: &HubKeys) -> Result<Self> {
        hub.refuse_remote_code()?;
        if hub.flag("use_sliding_window", false)? {
            return Err(
                hub.refuse("has use_sliding_window true, expected false", "layers with windows are not computed")
            );
        }
        if version == QwenVersion::Qwen3 && hub.flag("attention_bias", false)? {
            return Err(hub.refuse("has attention_bias true, expected false", ""));
        }
        if hub.activation("hidden_act", "silu")? != Activation::Silu {
            return Err(hub.refuse("has another hidden_act than silu, expected that", ""));
        }
        let (hidden_size, heads) = (hub.size("hidden_size")?, hub.size("num_attention_heads")?);
        let head_dim = match (hub.size_if("head_dim")?, version) {
            (Some(size), _) => size,
            (None, QwenVersion::Qwen2) => hidden_size / heads.max(1),
            // The default is transformers' own.
            (None, QwenVersion::Qwen3) => 128,
        };
        let config = Self {
            version,
            vocab_size: hub.size("vocab_size")?,
            hidden_size,
            num_hidden_layers: hub.size("num_hidden_layers")?,
            num_attention_heads: heads,
            num_key_value_heads: hub.size_if("num_key_value_heads")?.unwrap_or(heads),
            head_dim,
            intermediate_size: hub.size("intermediate_size")?,
            max_position_embeddings: hub.size_if("max_position_embeddings")?.unwrap_or(32_768),
            rms_norm_eps: hub.real("rms_norm_eps", 1e-6)?,
            rope_theta: hub.rotary_base(None, "rope_theta", 10_000.0)?,
            attention_dropout: hub.real("attention_dropout", 0.0)?,
        };
        config.validate(&hub.place())?;
        Ok(config)
    }

    /// `config.json` for transformers and whatever reads its folders.
    pub fn to_hub(&self, pad_token_id: usize, dtype: WeightType) -> Value {
        let is_qwen3 = self.version == QwenVersion::Qwen3;
        let mut keys = json!({
            "architectures": [if is_qwen3 { "Qwen3Model" } else { "Qwen2Model" }],
            "attention_dropout": self.attention_dropout,
            // Both names of the type: transformers renamed it.
            "dtype": dtype.torch_name(),
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "hidden_size": self.hidden_size,
            "initializer_range": 0.02,
            "intermediate_size": self.intermediate_size,
            "max_position_embeddings": self.max_position_embeddings,
            "model_type": self.version.name(),
            "num_attention_heads": self.num_attention_heads,
            "num_hidden_layers": self.num_hidden_layers,
            "num_key_value_heads": self.num_key_value_heads,
            "pad_token_id": pad_token_id,
            "rms_norm_eps": self.rms_norm_eps,
            // Both forms of the base, of version 5 of transformers and of those before.
            "rope_parameters": {"rope_type": "default", "rope_theta": self.rope_theta},
            "rope_theta": self.rope_theta,
            "tie_word_embeddings": true,
            "torch_dtype": dtype.torch_name(),
            "use_cache": false,
            "use_sliding_window": false,
            "vocab_size": self.vocab_size,
        });
        if is_qwen3 {
            keys["attention_bias"] = json!(false);
        }
        keys
    }

    /// The network that these sizes describe.
    pub fn stack(&self) -> Stack {
        let (hidden, wide) = (self.hidden_size, self.intermediate_size);
        let heads =
            HeadSizes { shared: self.num_key_value_heads, ..HeadSizes::plain(self.num_attention_heads, self.head_dim) };
        let (queries, keys) = heads.widths();
        let layer = |layer: usize| {
            let name = |part: &str| format!("layers.{layer}.{part}");
            let linear = |part: &str, inputs, outputs, bias| LinearSpec { name: name(part), inputs, outputs, bias };
            let bias = self.version == QwenVersion::Qwen2;
            StackLayer {
                attention_norm: Some(name("input_layernorm")),
                projections: vec![
                    linear("self_attn.q_proj", hidden, queries, bias),
                    linear("self_attn.k_proj", hidden, keys, bias),
                    linear("self_attn.v_proj", hidden, keys, bias),
                ],
                head_norms: (self.version == QwenVersion::Qwen3)
                    .then(|| [name("self_attn.q_norm"), name("self_attn.k_norm")]),
                rotary: Some(Rotary { size: self.head_dim, base: self.rope_theta }),
                reach: Reach::BEFORE,
                attention_output: linear("self_attn.o_proj", queries, hidden, false),
                feed_forward_norm: name("post_attention_layernorm"),
                inner: ["mlp.gate_proj", "mlp.up_proj"].map(|part| linear(part, hidden, wide, false)).into(),
                output: linear("mlp.down_proj", wide, hidden, false),
            }
        };
        Stack {
            vocab_size: self.vocab_size,
            width: hidden,
            max_tokens: Some(self.max_position_embeddings),
            heads,
            wide,
            gated: true,
            activation: Activation::Silu,
            norm: NormKind::Rms,
            epsilon: self.rms_norm_eps,
            order: NormOrder::Before,
            words: "embed_tokens.weight".into(),
            positions: None,
            token_types: None,
            embedding_norm: None,
            distances: None,
            layers: (0..self.num_hidden_layers).map(layer).collect(),
            final_norm: Some("norm".into()),
            dropout: StackDropout { attention: self.attention_dropout, ..StackDropout::default() },
        }
    }

    /// Refuses sizes that cannot be.
    pub fn validate(&self, key: &str) -> Result<()> {
        self.stack().validate(key)?;
        let head_dim = self.head_dim;
        expect_value(format!("{key}.head_dim"), head_dim, head_dim.is_multiple_of(2), "an even number")
    }
}
