//! Qwen2 and Qwen3 as encoders: bge-code-v1, Qwen3-Embedding, jina-code-embeddings, nomic-embed-code.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Activation, DecoderShape, HubKeys, ScoreHead, ScoredAs, Transformer, TransformerSizes,
    stack::{LinearSpec, NormKind, NormOrder, Reach, Rotary, Stack, StackDropout, StackLayer},
    transformer_config::HubTokens,
};
use crate::error::Result;

/// A Qwen2 (arXiv 2407.10671) or Qwen3 (arXiv 2505.09388) without its language head: a decoder, whose tokens see those
/// before them, or all where it was trained so (LLM2Vec, arXiv 2404.05961). Weights are named as in `model.safetensors` without a leading `model.`:
///
/// - `embed_tokens.weight`;
/// - `layers.N.self_attn.{q,k,v,o}_proj.weight`, and `...{q,k,v}_proj.bias` in a Qwen2;
///   `layers.N.self_attn.{q,k}_norm.weight`, `[head_dim]`, in a Qwen3;
/// - `layers.N.mlp.{gate,up,down}_proj.weight`;
/// - `layers.N.{input_layernorm,post_attention_layernorm}.weight`, and `norm.weight`.
///
/// Equal to transformers' `Qwen2Model` and `Qwen3Model`, whose tokens see all with `is_causal: false` from version 5.2 on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QwenConfig {
    /// The generation.
    pub version: QwenVersion,
    /// Sizes.
    pub decoder: DecoderShape,
    /// True where tokens see those before them alone.
    #[serde(default = "causal")]
    pub is_causal: bool,
    /// True where a run has set that to another than the model it began with has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attention_changed: bool,
}

fn causal() -> bool {
    true
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

impl Transformer for QwenConfig {
    fn model_types() -> &'static [&'static str] {
        &["qwen2", "qwen3"]
    }

    fn from_hub(hub: &HubKeys) -> Result<Self> {
        let is_third = hub.text("model_type", "")? == QwenVersion::Qwen3.name();
        let version = if is_third { QwenVersion::Qwen3 } else { QwenVersion::Qwen2 };
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
        let sizes = TransformerSizes::from_hub(hub, 32_768)?;
        let heads = sizes.num_attention_heads;
        // transformers' own defaults.
        let head_dim = match version {
            QwenVersion::Qwen2 => sizes.hidden_size / heads.max(1),
            QwenVersion::Qwen3 => 128,
        };
        let rope_theta = hub.rotary_base(None, "rope_theta", 10_000.0)?;
        Ok(Self {
            version,
            decoder: DecoderShape::from_hub(hub, sizes, heads, head_dim, rope_theta)?,
            is_causal: hub.flag("is_causal", true)?,
            attention_changed: false,
        })
    }

    fn to_hub(&self, _: HubTokens) -> Value {
        let is_qwen3 = self.version == QwenVersion::Qwen3;
        let mut keys = self.decoder.to_hub(json!({
            "architectures": [if is_qwen3 { "Qwen3Model" } else { "Qwen2Model" }],
            "hidden_act": "silu",
            "initializer_range": 0.02,
            "model_type": self.version.name(),
            // Both forms of the base, of version 5 of transformers and of those before.
            "rope_parameters": {"rope_type": "default", "rope_theta": self.decoder.rope_theta},
            "tie_word_embeddings": true,
            "use_cache": false,
            "use_sliding_window": false,
        }));
        if is_qwen3 {
            keys["attention_bias"] = json!(false);
        }
        if !self.is_causal {
            keys["is_causal"] = json!(false);
        }
        keys
    }

    fn kind(&self) -> &'static str {
        self.version.name()
    }

    fn scored_as(&self, _: Option<&HubKeys>) -> Result<Option<ScoredAs>> {
        let classes: &[&str] = match self.version {
            QwenVersion::Qwen2 => &["Qwen2ForSequenceClassification"],
            QwenVersion::Qwen3 => &["Qwen3ForSequenceClassification"],
        };
        Ok(Some(ScoredAs { classes, holder: "model.", head: ScoreHead::of_last_token() }))
    }

    fn special_roles(&self) -> &'static [&'static str] {
        &["unk_token", "pad_token", "eos_token"]
    }

    fn stack(&self) -> Stack {
        let DecoderShape { sizes, head_dim, rope_theta, .. } = self.decoder;
        let TransformerSizes { hidden_size: hidden, intermediate_size: wide, .. } = sizes;
        let heads = self.decoder.heads();
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
                rotary: Some(Rotary { size: head_dim, base: rope_theta }),
                reach: if self.is_causal { Reach::BEFORE } else { Reach::ALL },
                attention_output: linear("self_attn.o_proj", queries, hidden, false),
                attention_update_norm: None,
                feed_forward_norm: name("post_attention_layernorm"),
                inner: ["mlp.gate_proj", "mlp.up_proj"].map(|part| linear(part, hidden, wide, false)).into(),
                output: linear("mlp.down_proj", wide, hidden, false),
                feed_forward_update_norm: None,
            }
        };
        Stack {
            vocab_size: sizes.vocab_size,
            width: hidden,
            max_tokens: Some(sizes.max_position_embeddings),
            heads,
            wide,
            gated: true,
            activation: Activation::Silu,
            norm: NormKind::Rms { from_one: false },
            epsilon: self.decoder.rms_norm_eps,
            order: NormOrder::Before,
            words: "embed_tokens.weight".into(),
            word_scale: 1.0,
            positions: None,
            token_types: None,
            embedding_norm: None,
            distances: None,
            layers: (0..sizes.num_hidden_layers).map(layer).collect(),
            final_norm: Some("norm".into()),
            dropout: StackDropout { attention: self.decoder.attention_dropout, ..StackDropout::default() },
        }
    }

    fn set_bidirectional(&mut self, on: bool) -> bool {
        // What is set back is the model's own again.
        self.attention_changed ^= self.is_causal == on;
        self.is_causal = !on;
        true
    }

    fn attention_changed(&self) -> bool {
        self.attention_changed
    }

    /// `is_causal: false` is read from version 5.2 on; those before compute a causal network and do not say so.
    fn transformers_version(&self) -> [u32; 2] {
        match self.version {
            _ if !self.is_causal => [5, 2],
            QwenVersion::Qwen2 => [4, 37],
            QwenVersion::Qwen3 => [4, 51],
        }
    }

    fn validate(&self, key: &str) -> Result<()> {
        self.stack().validate(key)?;
        self.decoder.validate(key)
    }
}
