//! Gemma 3 as an encoder: EmbeddingGemma.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Activation, DecoderShape, HubKeys, ScoreHead, ScoredAs, Transformer, TransformerSizes,
    stack::{HeadSizes, LinearSpec, NormKind, NormOrder, Reach, Rotary, Stack, StackDropout, StackLayer},
    transformer_config::HubTokens,
};
use crate::error::{Result, expect_value};

/// The text part of a Gemma 3 (arXiv 2503.19786) without its language head; tokens see those before them, or all, as in
/// EmbeddingGemma (arXiv 2509.20354). Most layers look at a window, some at the whole text, each kind with a rotary base
/// of its own. Weights are named as in `model.safetensors` without a leading `model.`:
///
/// - `embed_tokens.weight`, whose rows are scaled by the root of the width;
/// - `layers.N.self_attn.{q,k,v,o}_proj.weight`, `layers.N.self_attn.{q,k}_norm.weight`, `[head_dim]`;
/// - `layers.N.mlp.{gate,up,down}_proj.weight`;
/// - `layers.N.{input,post_attention,pre_feedforward,post_feedforward}_layernorm.weight`, and `norm.weight`: before and
///   after each part, kept as differences from one.
///
/// Equal to transformers' `Gemma3TextModel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmaConfig {
    /// Sizes.
    pub decoder: DecoderShape,
    /// Scores are over the root of this.
    pub query_pre_attn_scalar: usize,
    /// True where tokens see those after them too.
    pub use_bidirectional_attention: bool,
    /// True where a run has set that to another than the model it began with has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attention_changed: bool,
    /// Tokens that a window holds: half of them on either side, or all before.
    pub sliding_window: usize,
    /// True for each layer that looks at the whole text.
    pub full_attention: Vec<bool>,
    /// Base of the rotary positions of layers that look at a window.
    pub rope_local_base_freq: f64,
    /// Linear layers of the attention add a bias.
    pub attention_bias: bool,
    /// Activation of the gate.
    pub activation: Activation,
}

/// transformers' names of what a layer looks at: a window, and all.
const LAYER_TYPES: [&str; 2] = ["sliding_attention", "full_attention"];

impl Transformer for GemmaConfig {
    fn model_types() -> &'static [&'static str] {
        &["gemma3_text"]
    }

    fn from_hub(hub: &HubKeys) -> Result<Self> {
        hub.refuse_remote_code()?;
        if let Some(cap) = hub.get("attn_logit_softcapping") {
            return Err(hub.refuse(format!("has attn_logit_softcapping {cap}, expected null"), ""));
        }
        // The defaults are transformers' own.
        let sizes = TransformerSizes::from_hub(hub, 131_072)?;
        let rope_theta = hub.rotary_base(Some(LAYER_TYPES[1]), "rope_theta", 1_000_000.0)?;
        Ok(Self {
            decoder: DecoderShape::from_hub(hub, sizes, 4, 256, rope_theta)?,
            query_pre_attn_scalar: hub.size_if("query_pre_attn_scalar")?.unwrap_or(256),
            use_bidirectional_attention: hub.flag("use_bidirectional_attention", false)?,
            attention_changed: false,
            sliding_window: hub.size_if("sliding_window")?.unwrap_or(4096),
            full_attention: full_attention(hub, sizes.num_hidden_layers)?,
            rope_local_base_freq: hub.rotary_base(Some(LAYER_TYPES[0]), "rope_local_base_freq", 10_000.0)?,
            attention_bias: hub.flag("attention_bias", false)?,
            activation: hub.activation("hidden_activation", "gelu_pytorch_tanh")?,
        })
    }

    fn to_hub(&self, _: HubTokens) -> Value {
        let layer_types: Vec<&str> = self.full_attention.iter().map(|full| LAYER_TYPES[usize::from(*full)]).collect();
        let hidden_activation = match self.activation {
            Activation::GeluTanh => "gelu_pytorch_tanh",
            other => other.hub_name(),
        };
        self.decoder.to_hub(json!({
            "architectures": ["Gemma3TextModel"],
            "attention_bias": self.attention_bias,
            "attn_logit_softcapping": null,
            "final_logit_softcapping": null,
            "hidden_activation": hidden_activation,
            "initializer_range": 0.02,
            "layer_types": layer_types,
            "model_type": "gemma3_text",
            "query_pre_attn_scalar": self.query_pre_attn_scalar,
            // Both forms of the bases, of version 5 of transformers and of those before.
            "rope_local_base_freq": self.rope_local_base_freq,
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": self.decoder.rope_theta},
                "sliding_attention": {"rope_type": "default", "rope_theta": self.rope_local_base_freq},
            },
            "sliding_window": self.sliding_window,
            "use_bidirectional_attention": self.use_bidirectional_attention,
            "use_cache": false,
        }))
    }

    fn kind(&self) -> &'static str {
        "gemma3"
    }

    fn scored_as(&self, _: Option<&HubKeys>) -> Result<Option<ScoredAs>> {
        let classes = &["Gemma3TextForSequenceClassification"];
        Ok(Some(ScoredAs { classes, holder: "model.", head: ScoreHead::of_last_token() }))
    }

    fn special_roles(&self) -> &'static [&'static str] {
        &["bos_token", "eos_token", "pad_token", "unk_token", "mask_token"]
    }

    fn stack(&self) -> Stack {
        let DecoderShape { sizes, head_dim, rope_theta, .. } = self.decoder;
        let TransformerSizes { hidden_size: hidden, intermediate_size: wide, .. } = sizes;
        let heads = HeadSizes { scale: (self.query_pre_attn_scalar as f64).powf(-0.5), ..self.decoder.heads() };
        let (queries, keys) = heads.widths();
        let window = match self.use_bidirectional_attention {
            true => Reach { before: self.sliding_window / 2, after: self.sliding_window / 2 },
            false => Reach { before: self.sliding_window.saturating_sub(1), after: 0 },
        };
        let whole = if self.use_bidirectional_attention { Reach::ALL } else { Reach::BEFORE };
        let layer = |(layer, full): (usize, &bool)| {
            let name = |part: &str| format!("layers.{layer}.{part}");
            let linear = |part: &str, inputs, outputs, bias| LinearSpec { name: name(part), inputs, outputs, bias };
            let bias = self.attention_bias;
            let base = if *full { rope_theta } else { self.rope_local_base_freq };
            StackLayer {
                attention_norm: Some(name("input_layernorm")),
                projections: vec![
                    linear("self_attn.q_proj", hidden, queries, bias),
                    linear("self_attn.k_proj", hidden, keys, bias),
                    linear("self_attn.v_proj", hidden, keys, bias),
                ],
                head_norms: Some([name("self_attn.q_norm"), name("self_attn.k_norm")]),
                rotary: Some(Rotary { size: head_dim, base }),
                reach: if *full { whole } else { window },
                attention_output: linear("self_attn.o_proj", queries, hidden, bias),
                attention_update_norm: Some(name("post_attention_layernorm")),
                feed_forward_norm: name("pre_feedforward_layernorm"),
                inner: ["mlp.gate_proj", "mlp.up_proj"].map(|part| linear(part, hidden, wide, false)).into(),
                output: linear("mlp.down_proj", wide, hidden, false),
                feed_forward_update_norm: Some(name("post_feedforward_layernorm")),
            }
        };
        Stack {
            vocab_size: sizes.vocab_size,
            width: hidden,
            max_tokens: Some(sizes.max_position_embeddings),
            heads,
            wide,
            gated: true,
            activation: self.activation,
            norm: NormKind::Rms { from_one: true },
            epsilon: self.decoder.rms_norm_eps,
            order: NormOrder::Before,
            words: "embed_tokens.weight".into(),
            word_scale: (hidden as f64).sqrt(),
            positions: None,
            token_types: None,
            embedding_norm: None,
            distances: None,
            layers: self.full_attention.iter().enumerate().map(layer).collect(),
            final_norm: Some("norm".into()),
            dropout: StackDropout { attention: self.decoder.attention_dropout, ..StackDropout::default() },
        }
    }

    fn set_bidirectional(&mut self, on: bool) -> bool {
        // What is set back is the model's own again.
        self.attention_changed ^= self.use_bidirectional_attention != on;
        self.use_bidirectional_attention = on;
        true
    }

    fn attention_changed(&self) -> bool {
        self.attention_changed
    }

    /// `use_bidirectional_attention` is read from version 4.57 on; those before compute a causal network and do not say so.
    fn transformers_version(&self) -> [u32; 2] {
        if self.use_bidirectional_attention { [4, 57] } else { [4, 50] }
    }

    fn validate(&self, key: &str) -> Result<()> {
        self.stack().validate(key)?;
        self.decoder.validate(key)?;
        let (scalar, window) = (self.query_pre_attn_scalar, self.sliding_window);
        expect_value(format!("{key}.query_pre_attn_scalar"), scalar, scalar > 0, "at least 1")?;
        expect_value(format!("{key}.sliding_window"), window, window > 0, "at least 1")
    }
}

/// True for each layer that looks at the whole text: of a list of kinds, or every so many.
fn full_attention(hub: &HubKeys, layers: usize) -> Result<Vec<bool>> {
    let Some(types) = hub.get("layer_types") else {
        let every = match hub.size_if("sliding_window_pattern")? {
            Some(every) => every,
            None => hub.size_if("_sliding_window_pattern")?.unwrap_or(6),
        };
        return Ok((1..=layers).map(|layer| layer.is_multiple_of(every.max(1))).collect());
    };
    let kind = |kind: &Value| LAYER_TYPES.iter().position(|known| Some(*known) == kind.as_str()).map(|at| at == 1);
    let found = types.as_array().and_then(|types| types.iter().map(kind).collect::<Option<Vec<bool>>>());
    found.filter(|found| found.len() == layers).ok_or_else(|| {
        let message =
            format!("has layer_types {types}, expected one of {} for each of {layers}", LAYER_TYPES.join(", "));
        hub.refuse(message, "")
    })
}
