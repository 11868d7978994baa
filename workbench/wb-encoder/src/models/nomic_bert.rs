//! NomicBERT: CodeRankEmbed, nomic-embed-text.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Activation, BertConfig, HubKeys, ScoreHead, ScoredAs, Transformer, TransformerSizes,
    stack::{HeadSizes, LinearSpec, NormKind, NormOrder, Reach, Rotary, Stack, StackDropout, StackLayer},
    transformer_config::{HubTokens, without_wrappers},
};
use crate::error::{Result, expect_value};

/// NomicBERT (Nussbaum et al. 2024, arXiv 2402.01613): a BERT with rotary positions, a gate, and no biases. Weights are
/// named as transformers names them, whose names differ from those in repositories of before version 5:
///
/// - `embeddings.word_embeddings.weight`, `embeddings.token_type_embeddings.weight`,
///   `embeddings.LayerNorm.{weight,bias}` (`emb_ln`);
/// - `layers.N.self_attn.{q,k,v}_proj.weight` (parts of `attn.Wqkv`), `layers.N.self_attn.o_proj.weight`
///   (`attn.out_proj`), `layers.N.post_attention_layernorm.{weight,bias}` (`norm1`);
/// - `layers.N.mlp.{gate,up,down}_proj.weight` (`fc12`, `fc11`, `fc2`), `layers.N.post_mlp_layernorm.{weight,bias}`
///   (`norm2`).
///
/// Equal to transformers' `NomicBertModel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NomicBertConfig {
    /// Sizes, normalization, activation and dropout, which are a BERT's; `first_position` is 0.
    pub bert: BertConfig,
    /// Base of the rotary positions.
    pub rope_theta: f64,
}

/// Places that a model of the older form has learned, where its file does not say them.
const TRAINED_PLACES: usize = 2048;

/// Names in older files, and transformers' own.
const OLDER_NAMES: [(&str, &str); 8] = [
    ("encoder.layers.", "layers."),
    ("emb_ln.", "embeddings.LayerNorm."),
    (".attn.out_proj.", ".self_attn.o_proj."),
    (".mlp.fc11.", ".mlp.up_proj."),
    (".mlp.fc12.", ".mlp.gate_proj."),
    (".mlp.fc2.", ".mlp.down_proj."),
    (".norm1.", ".post_attention_layernorm."),
    (".norm2.", ".post_mlp_layernorm."),
];

/// Keys of older files that ask for something that no released model has, with the one value that is computed.
const SWITCHES: [(&str, bool); 8] = [
    ("prenorm", false),
    ("causal", false),
    ("parallel_block", false),
    ("use_rms_norm", false),
    ("rotary_emb_interleaved", false),
    ("qkv_proj_bias", false),
    ("mlp_fc1_bias", false),
    ("mlp_fc2_bias", false),
];

impl Transformer for NomicBertConfig {
    fn model_types() -> &'static [&'static str] {
        &["nomic_bert"]
    }

    /// Reads either form of the file: transformers' own, or that of the code which repositories brought along before.
    /// That code is known here, and not run.
    fn from_hub(hub: &HubKeys) -> Result<Self> {
        if hub.get("n_embd").is_some() {
            return Self::from_older(hub);
        }
        let mut sizes = TransformerSizes::from_hub(hub, TRAINED_PLACES)?;
        let scaled = hub.get("rope_parameters").and_then(|rotary| rotary["rope_type"].as_str());
        let rope_theta = if scaled == Some("dynamic") {
            sizes.max_position_embeddings = hub.size_if("max_trained_positions")?.unwrap_or(TRAINED_PLACES);
            hub.get("rope_parameters").and_then(|rotary| rotary["rope_theta"].as_f64()).unwrap_or(1000.0)
        } else {
            hub.rotary_base(None, "rope_theta", 1000.0)?
        };
        let bert = BertConfig {
            sizes,
            type_vocab_size: hub.size_if("type_vocab_size")?.unwrap_or(2),
            layer_norm_eps: hub.real("layer_norm_eps", 1e-12)?,
            first_position: 0,
            activation: hub.activation("hidden_act", "silu")?,
            hidden_dropout: hub.real("hidden_dropout_prob", 0.0)?,
            attention_dropout: hub.real("attention_probs_dropout_prob", 0.0)?,
        };
        Ok(Self { bert, rope_theta })
    }

    fn to_hub(&self, _: HubTokens) -> Value {
        self.bert.sizes.to_hub(json!({
            "architectures": ["NomicBertModel"],
            "attention_probs_dropout_prob": self.bert.attention_dropout,
            "head_dim": self.bert.sizes.hidden_size / self.bert.sizes.num_attention_heads.max(1),
            "hidden_act": self.bert.activation.hub_name(),
            "hidden_dropout_prob": self.bert.hidden_dropout,
            "initializer_range": 0.02,
            "layer_norm_eps": self.bert.layer_norm_eps,
            "model_type": "nomic_bert",
            "rope_parameters": {"rope_type": "default", "rope_theta": self.rope_theta},
            "type_vocab_size": self.bert.type_vocab_size,
        }))
    }

    fn kind(&self) -> &'static str {
        "nomic_bert"
    }

    fn scored_as(&self, _: Option<&HubKeys>) -> Result<Option<ScoredAs>> {
        Ok(Some(ScoredAs {
            classes: &["NomicBertForSequenceClassification"],
            holder: "nomic_bert.",
            head: ScoreHead::of_first_token("pooler.dense", "classifier"),
        }))
    }

    fn transformers_version(&self) -> [u32; 2] {
        [5, 5]
    }

    fn our_name(&self, name: &str) -> String {
        let ours = without_wrappers(name, &["nomic_bert.", "bert."]).to_owned();
        OLDER_NAMES.iter().fold(ours, |ours, (older, newer)| ours.replacen(older, newer, 1))
    }

    fn our_names(&self, name: &str) -> Vec<String> {
        let ours = self.our_name(name);
        match ours.contains(".attn.Wqkv.") {
            true => ["q", "k", "v"].map(|part| ours.replace("attn.Wqkv", &format!("self_attn.{part}_proj"))).into(),
            false => vec![ours],
        }
    }

    fn stack(&self) -> Stack {
        let TransformerSizes { hidden_size: hidden, intermediate_size: wide, num_attention_heads, .. } =
            self.bert.sizes;
        let heads = HeadSizes::plain(num_attention_heads, hidden / num_attention_heads.max(1));
        let layer = |layer: usize| {
            let name = |part: &str| format!("layers.{layer}.{part}");
            let linear = |part: &str, inputs, outputs| LinearSpec { name: name(part), inputs, outputs, bias: false };
            StackLayer {
                attention_norm: Some(name("post_attention_layernorm")),
                projections: ["q", "k", "v"]
                    .map(|part| linear(&format!("self_attn.{part}_proj"), hidden, hidden))
                    .into(),
                head_norms: None,
                rotary: Some(Rotary { size: heads.size, base: self.rope_theta }),
                reach: Reach::ALL,
                attention_output: linear("self_attn.o_proj", hidden, hidden),
                attention_update_norm: None,
                feed_forward_norm: name("post_mlp_layernorm"),
                inner: ["mlp.gate_proj", "mlp.up_proj"].map(|part| linear(part, hidden, wide)).into(),
                output: linear("mlp.down_proj", wide, hidden),
                feed_forward_update_norm: None,
            }
        };
        Stack {
            vocab_size: self.bert.sizes.vocab_size,
            width: hidden,
            max_tokens: Some(self.bert.sizes.max_position_embeddings),
            heads,
            wide,
            gated: true,
            activation: self.bert.activation,
            norm: NormKind::Layer { shift: true },
            epsilon: self.bert.layer_norm_eps,
            order: NormOrder::After,
            words: "embeddings.word_embeddings.weight".into(),
            word_scale: 1.0,
            positions: None,
            token_types: Some(("embeddings.token_type_embeddings.weight".into(), self.bert.type_vocab_size)),
            embedding_norm: Some("embeddings.LayerNorm".into()),
            distances: None,
            layers: (0..self.bert.sizes.num_hidden_layers).map(layer).collect(),
            final_norm: None,
            dropout: StackDropout {
                embeddings: self.bert.hidden_dropout,
                attention: self.bert.attention_dropout,
                attention_output: self.bert.hidden_dropout,
                output: self.bert.hidden_dropout,
                ..StackDropout::default()
            },
        }
    }

    fn validate(&self, key: &str) -> Result<()> {
        self.bert.validate(key)?;
        self.stack().validate(key)?;
        let TransformerSizes { hidden_size, num_attention_heads: heads, .. } = self.bert.sizes;
        let expected = format!("a divisor of hidden_size {hidden_size} that leaves heads of an even size");
        expect_value(format!("{key}.num_attention_heads"), heads, hidden_size.is_multiple_of(2 * heads), &expected)
    }
}

impl NomicBertConfig {
    /// Reads the older form, which calls sizes as GPT-2 does.
    fn from_older(hub: &HubKeys) -> Result<Self> {
        for (key, computed) in SWITCHES {
            let found = hub.flag(key, computed)?;
            if found != computed {
                return Err(hub.refuse(format!("has {key} {found}, expected {computed}"), ""));
            }
        }
        if hub.real("rotary_emb_fraction", 1.0)? != 1.0 || hub.get("rotary_emb_scale_base").is_some() {
            let message =
                "has rotary_emb_fraction or rotary_emb_scale_base, expected heads that turn whole and unscaled";
            return Err(hub.refuse(message, ""));
        }
        if hub.size_if("num_experts")?.unwrap_or(0) > 0 {
            return Err(hub.refuse("has num_experts, expected none", "mixtures of experts are not computed"));
        }
        let activation = match hub.text("activation_function", "swiglu")?.as_str() {
            "swiglu" => Activation::Silu,
            "geglu" => Activation::Gelu,
            other => {
                let message = format!("has activation_function `{other}`, expected swiglu or geglu");
                return Err(hub.refuse(message, "a feed-forward part without a gate is not computed"));
            }
        };
        // Beyond the places that it has learned, positions would be scaled by the text's length.
        let places = hub.size_if("n_positions")?.unwrap_or(TRAINED_PLACES);
        let trained = hub.size_if("max_trained_positions")?.unwrap_or(TRAINED_PLACES);
        let is_scaled = hub.get("rotary_scaling_factor").is_some();
        let (rows, multiple) = (hub.size("vocab_size")?, hub.size_if("pad_vocab_size_multiple")?.unwrap_or(1).max(1));
        let bert = BertConfig {
            sizes: TransformerSizes {
                vocab_size: rows.next_multiple_of(multiple),
                hidden_size: hub.size("n_embd")?,
                num_hidden_layers: hub.size("n_layer")?,
                num_attention_heads: hub.size("n_head")?,
                intermediate_size: hub.size("n_inner")?,
                max_position_embeddings: if is_scaled { places.min(trained) } else { places },
            },
            type_vocab_size: hub.size_if("type_vocab_size")?.unwrap_or(2),
            layer_norm_eps: hub.real("layer_norm_epsilon", 1e-5)?,
            first_position: 0,
            activation,
            hidden_dropout: hub.real("resid_pdrop", 0.0)?,
            attention_dropout: hub.real("attn_pdrop", 0.0)?,
        };
        Ok(Self { bert, rope_theta: hub.real("rotary_emb_base", 10_000.0)? })
    }
}
