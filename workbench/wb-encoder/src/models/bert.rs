//! BERT and RoBERTa: MiniLM, BGE, CodeBERT, UniXcoder, and our own small transformers.

use std::fmt::Display;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Activation, HubKeys, ScoreHead, ScoredAs, Transformer, TransformerSizes,
    stack::{HeadSizes, LinearSpec, NormKind, NormOrder, PositionTable, Reach, Stack, StackDropout, StackLayer},
    transformer_config::{HubTokens, without_wrappers},
};
use crate::error::{Result, expect_value};

/// Model types whose encoder is RoBERTa's: positions begin after the padding token's id.
const ROBERTA: [&str; 3] = ["roberta", "xlm-roberta", "camembert"];

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
    /// Sizes. The heads divide the width; of the rows of the position embedding, no token uses a RoBERTa's first
    /// `pad_token_id + 1`.
    #[serde(flatten)]
    pub sizes: TransformerSizes,
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

impl Transformer for BertConfig {
    fn model_types() -> &'static [&'static str] {
        &["bert", ROBERTA[0], ROBERTA[1], ROBERTA[2]]
    }

    fn from_hub(hub: &HubKeys) -> Result<Self> {
        hub.refuse_remote_code()?;
        let is_roberta = ROBERTA.contains(&hub.text("model_type", "")?.as_str());
        if hub.flag("is_decoder", false)? && !is_roberta {
            return Err(hub.refuse("has is_decoder true, expected an encoder", ""));
        }
        let kind = hub.text("position_embedding_type", "absolute")?;
        if kind != "absolute" {
            return Err(hub.refuse(format!("has position_embedding_type `{kind}`, expected absolute"), ""));
        }
        // The defaults are transformers' own.
        let first_after = hub.size_if("pad_token_id")?.unwrap_or(1) + 1;
        Ok(Self {
            sizes: TransformerSizes::from_hub(hub, 512)?,
            type_vocab_size: hub.size_if("type_vocab_size")?.unwrap_or(2),
            layer_norm_eps: hub.real("layer_norm_eps", 1e-12)?,
            first_position: if is_roberta { first_after } else { 0 },
            activation: hub.activation("hidden_act", "gelu")?,
            hidden_dropout: hub.real("hidden_dropout_prob", 0.1)?,
            attention_dropout: hub.real("attention_probs_dropout_prob", 0.1)?,
        })
    }

    fn to_hub(&self, _: HubTokens) -> Value {
        let is_roberta = self.first_position > 0;
        self.sizes.to_hub(json!({
            "architectures": [if is_roberta { "RobertaModel" } else { "BertModel" }],
            "attention_probs_dropout_prob": self.attention_dropout,
            "classifier_dropout": null,
            "hidden_act": self.activation.hub_name(),
            "hidden_dropout_prob": self.hidden_dropout,
            "initializer_range": 0.02,
            "layer_norm_eps": self.layer_norm_eps,
            "model_type": if is_roberta { "roberta" } else { "bert" },
            "position_embedding_type": "absolute",
            "type_vocab_size": self.type_vocab_size,
            "use_cache": true,
        }))
    }

    fn kind(&self) -> &'static str {
        "bert"
    }

    fn our_name(&self, name: &str) -> String {
        let ours = without_wrappers(name, &["bert.", "roberta."]);
        match ours.rsplit_once("LayerNorm.") {
            Some((before, "gamma")) => format!("{before}LayerNorm.weight"),
            Some((before, "beta")) => format!("{before}LayerNorm.bias"),
            _ => ours.to_owned(),
        }
    }

    fn scored_as(&self, _: Option<&HubKeys>) -> Result<Option<ScoredAs>> {
        Ok(Some(match self.first_position {
            0 => ScoredAs {
                classes: &["BertForSequenceClassification"],
                holder: "bert.",
                head: ScoreHead::of_first_token("pooler.dense", "classifier"),
            },
            _ => ScoredAs {
                classes: &[
                    "RobertaForSequenceClassification",
                    "XLMRobertaForSequenceClassification",
                    "CamembertForSequenceClassification",
                ],
                holder: "roberta.",
                head: ScoreHead::of_first_token("classifier.dense", "classifier.out_proj"),
            },
        }))
    }

    fn pad_token_id(&self) -> Option<u32> {
        self.first_position.checked_sub(1).map(|id| id as u32)
    }

    fn stack(&self) -> Stack {
        let TransformerSizes { hidden_size: hidden, intermediate_size: wide, num_attention_heads, .. } = self.sizes;
        let size = hidden / num_attention_heads.max(1);
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
                attention_update_norm: None,
                feed_forward_norm: name("output.LayerNorm"),
                inner: vec![linear("intermediate.dense", hidden, wide)],
                output: linear("output.dense", wide, hidden),
                feed_forward_update_norm: None,
            }
        };
        Stack {
            vocab_size: self.sizes.vocab_size,
            width: hidden,
            max_tokens: Some(self.sizes.max_position_embeddings.saturating_sub(self.first_position)),
            heads: HeadSizes::plain(num_attention_heads, size),
            wide,
            gated: false,
            activation: self.activation,
            norm: NormKind::Layer { shift: true },
            epsilon: self.layer_norm_eps,
            order: NormOrder::After,
            words: "embeddings.word_embeddings.weight".into(),
            word_scale: 1.0,
            positions: Some(PositionTable {
                name: "embeddings.position_embeddings.weight".into(),
                rows: self.sizes.max_position_embeddings,
                first: self.first_position,
            }),
            token_types: Some(("embeddings.token_type_embeddings.weight".into(), self.type_vocab_size)),
            embedding_norm: Some("embeddings.LayerNorm".into()),
            distances: None,
            layers: (0..self.sizes.num_hidden_layers).map(layer).collect(),
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

    fn validate(&self, key: &str) -> Result<()> {
        let expect = |name: &str, value: &dyn Display, fine: bool, expected: &str| {
            expect_value(format!("{key}.{name}"), value, fine, expected)
        };
        let TransformerSizes { hidden_size, num_attention_heads: heads, max_position_embeddings: rows, .. } =
            self.sizes;
        self.sizes.validate(key)?;
        expect("type_vocab_size", &self.type_vocab_size, self.type_vocab_size > 0, "at least 1")?;
        let expected = format!("a divisor of hidden_size {hidden_size}");
        expect("num_attention_heads", &heads, hidden_size.is_multiple_of(heads), &expected)?;
        let expected = format!("more than the first position {}", self.first_position);
        expect("max_position_embeddings", &rows, rows > self.first_position, &expected)?;
        for (name, value) in [("hidden_dropout", self.hidden_dropout), ("attention_dropout", self.attention_dropout)] {
            expect(name, &value, (0.0..1.0).contains(&value), "at least 0 and less than 1")?;
        }
        let epsilon = self.layer_norm_eps;
        expect("layer_norm_eps", &epsilon, epsilon > 0.0 && epsilon.is_finite(), "a small positive number")
    }
}

#[cfg(test)]
impl BertConfig {
    /// Sizes small enough to compute by differences.
    pub(crate) fn tiny(dropout: f64) -> Self {
        Self {
            sizes: TransformerSizes {
                vocab_size: 50,
                hidden_size: 24,
                num_hidden_layers: 2,
                num_attention_heads: 3,
                intermediate_size: 40,
                max_position_embeddings: 40,
            },
            type_vocab_size: 2,
            layer_norm_eps: 1e-5,
            first_position: 0,
            activation: Activation::Gelu,
            hidden_dropout: dropout,
            attention_dropout: dropout,
        }
    }
}
