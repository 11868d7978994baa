//! The encoder of a T5 v1.1: XTR, sentence-T5 of that version.

use std::fmt::Display;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Activation, HubKeys, Transformer,
    stack::{DistanceTable, HeadSizes, LinearSpec, NormKind, NormOrder, Reach, Stack, StackDropout, StackLayer},
    transformer_config::{HubTokens, without_wrappers},
};
use crate::error::{Result, expect_value};

/// The activation before the gate.
const ACTIVATION: &str = "gelu_new";
/// transformers' name of a GELU in its tanh form with a gate.
const GATED: &str = "gated-gelu";

/// The encoder of a T5 v1.1 (Raffel et al. 2020, arXiv 1910.10683; gated GELU of Shazeer 2020, arXiv 2002.05202).
/// Weights are named as in `model.safetensors`; no linear layer has a bias:
///
/// - `shared.weight`, the token vectors, `[vocab_size, d_model]` (a file may call it `encoder.embed_tokens.weight`);
/// - `encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight`, `[buckets, heads]`: one for all layers;
/// - `encoder.block.N.layer.0.layer_norm.weight`, `[d_model]`;
///   `encoder.block.N.layer.0.SelfAttention.{q,k,v}.weight`, `[heads · d_kv, d_model]`, and `...o.weight`, `[d_model, heads · d_kv]`;
/// - `encoder.block.N.layer.1.layer_norm.weight`, `[d_model]`;
///   `encoder.block.N.layer.1.DenseReluDense.{wi_0,wi_1}.weight`, `[d_ff, d_model]`, and `...wo.weight`, `[d_model, d_ff]`;
/// - `encoder.final_layer_norm.weight`, `[d_model]`.
///
/// A file of a whole T5 has `decoder.*` and `lm_head.weight` too, which an encoder does not use.
/// Adapters stand beside the weight they adapt: `encoder.block.N.layer.0.SelfAttention.q.lora_A.weight` (`[rank, in]`)
/// and `...lora_B.weight` (`[out, rank]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct T5Config {
    /// Rows of the token embedding; often more than the tokenizer has tokens.
    pub vocab_size: usize,
    /// Width of the stream.
    pub d_model: usize,
    /// Size of an attention head; `num_heads · d_kv` need not be `d_model`.
    pub d_kv: usize,
    /// Width of the feed-forward layer.
    pub d_ff: usize,
    /// Number of layers.
    pub num_layers: usize,
    /// Number of attention heads.
    pub num_heads: usize,
    /// Number of learned numbers each head has for distances between tokens; even, half of them for either direction.
    pub relative_attention_num_buckets: usize,
    /// From this distance on, all distances share a bucket.
    pub relative_attention_max_distance: usize,
    /// Added to the mean square in normalization.
    pub layer_norm_epsilon: f64,
    /// Dropout while training, everywhere: on token vectors, attention probabilities, both layers' outputs,
    /// between the feed-forward products, and on the last states.
    pub dropout_rate: f64,
}

impl T5Config {
    /// Width of query, key and value.
    pub fn inner(&self) -> usize {
        self.num_heads * self.d_kv
    }

    /// Learned numbers for distances between tokens.
    pub(crate) fn distances(&self) -> DistanceTable {
        DistanceTable {
            name: "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight".into(),
            buckets: self.relative_attention_num_buckets,
            furthest: self.relative_attention_max_distance,
        }
    }
}

impl Transformer for T5Config {
    fn model_types() -> &'static [&'static str] {
        &["t5"]
    }

    fn from_hub(hub: &HubKeys) -> Result<Self> {
        hub.refuse_remote_code()?;
        if hub.flag("is_decoder", false)? {
            return Err(hub.refuse("has is_decoder true, expected an encoder", ""));
        }
        // transformers' default is the first version's.
        let feed_forward = hub.text("feed_forward_proj", "relu")?;
        if feed_forward != GATED {
            return Err(hub.refuse(
                format!("has feed_forward_proj `{feed_forward}`, expected {GATED}"),
                "T5 v1.1 and what was made of it, such as XTR, have one; T5 v1.0 has not",
            ));
        }
        let activation = hub.text("dense_act_fn", ACTIVATION)?;
        if activation != ACTIVATION {
            return Err(hub.refuse(format!("has dense_act_fn `{activation}`, expected {ACTIVATION}"), ""));
        }
        Ok(Self {
            vocab_size: hub.size("vocab_size")?,
            d_model: hub.size("d_model")?,
            d_kv: hub.size("d_kv")?,
            d_ff: hub.size("d_ff")?,
            num_layers: hub.size("num_layers")?,
            num_heads: hub.size("num_heads")?,
            // The defaults are transformers' own; older files have no largest distance.
            relative_attention_num_buckets: hub.size_if("relative_attention_num_buckets")?.unwrap_or(32),
            relative_attention_max_distance: hub.size_if("relative_attention_max_distance")?.unwrap_or(128),
            layer_norm_epsilon: hub.real("layer_norm_epsilon", 1e-6)?,
            dropout_rate: hub.real("dropout_rate", 0.1)?,
        })
    }

    fn to_hub(&self, tokens: HubTokens) -> Value {
        json!({
            "architectures": ["T5EncoderModel"],
            "d_ff": self.d_ff,
            "d_kv": self.d_kv,
            "d_model": self.d_model,
            "decoder_start_token_id": tokens.pad,
            "dense_act_fn": ACTIVATION,
            "dropout_rate": self.dropout_rate,
            "eos_token_id": tokens.end,
            "feed_forward_proj": GATED,
            "initializer_factor": 1.0,
            "is_encoder_decoder": true,
            "is_gated_act": true,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "model_type": "t5",
            "num_decoder_layers": self.num_layers,
            "num_heads": self.num_heads,
            "num_layers": self.num_layers,
            "relative_attention_max_distance": self.relative_attention_max_distance,
            "relative_attention_num_buckets": self.relative_attention_num_buckets,
            "tie_word_embeddings": false,
            "use_cache": true,
            "vocab_size": self.vocab_size,
        })
    }

    fn kind(&self) -> &'static str {
        "t5"
    }

    fn our_name(&self, name: &str) -> String {
        let ours = without_wrappers(name, &[]);
        if ours == "encoder.embed_tokens.weight" { "shared.weight".to_owned() } else { ours.to_owned() }
    }

    fn special_roles(&self) -> &'static [&'static str] {
        &["unk_token", "pad_token", "eos_token"]
    }

    /// Deviations as in transformers, whose factors make up for the scores that are not divided.
    fn fresh_std(&self, name: &str, inputs: usize) -> f32 {
        let factor = if name.ends_with("SelfAttention.q") { self.d_kv } else { 1 };
        if name == "shared.weight" { 1.0 } else { 1.0 / ((inputs * factor) as f32).sqrt() }
    }

    fn stack(&self) -> Stack {
        let (width, inner, wide) = (self.d_model, self.inner(), self.d_ff);
        let layer = |layer: usize| {
            let name = |part: &str| format!("encoder.block.{layer}.layer.{part}");
            let linear = |part: &str, inputs, outputs| LinearSpec { name: name(part), inputs, outputs, bias: false };
            StackLayer {
                attention_norm: Some(name("0.layer_norm")),
                projections: ["q", "k", "v"]
                    .map(|part| linear(&format!("0.SelfAttention.{part}"), width, inner))
                    .into(),
                head_norms: None,
                rotary: None,
                reach: Reach::ALL,
                attention_output: linear("0.SelfAttention.o", inner, width),
                attention_update_norm: None,
                feed_forward_norm: name("1.layer_norm"),
                inner: ["wi_0", "wi_1"].map(|part| linear(&format!("1.DenseReluDense.{part}"), width, wide)).into(),
                output: linear("1.DenseReluDense.wo", wide, width),
                feed_forward_update_norm: None,
            }
        };
        Stack {
            vocab_size: self.vocab_size,
            width,
            max_tokens: None,
            // Scores are not divided.
            heads: HeadSizes { scale: 1.0, ..HeadSizes::plain(self.num_heads, self.d_kv) },
            wide,
            gated: true,
            activation: Activation::GeluTanh,
            norm: NormKind::Rms { from_one: false },
            epsilon: self.layer_norm_epsilon,
            order: NormOrder::Before,
            words: "shared.weight".into(),
            word_scale: 1.0,
            positions: None,
            token_types: None,
            embedding_norm: None,
            distances: Some(self.distances()),
            layers: (0..self.num_layers).map(layer).collect(),
            final_norm: Some("encoder.final_layer_norm".into()),
            dropout: StackDropout {
                embeddings: self.dropout_rate,
                attention: self.dropout_rate,
                attention_output: self.dropout_rate,
                inner: self.dropout_rate,
                output: self.dropout_rate,
                states: self.dropout_rate,
            },
        }
    }

    fn validate(&self, key: &str) -> Result<()> {
        let expect = |name: &str, value: &dyn Display, fine: bool, expected: &str| {
            expect_value(format!("{key}.{name}"), value, fine, expected)
        };
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("d_model", self.d_model),
            ("d_kv", self.d_kv),
            ("d_ff", self.d_ff),
            ("num_layers", self.num_layers),
            ("num_heads", self.num_heads),
        ];
        sizes.into_iter().try_for_each(|(name, size)| expect(name, &size, size > 0, "at least 1"))?;
        let (buckets, most) = (self.relative_attention_num_buckets, self.relative_attention_max_distance);
        let is_fine = buckets > 0 && buckets.is_multiple_of(4);
        expect("relative_attention_num_buckets", &buckets, is_fine, "a multiple of 4")?;
        let expected = format!("more than a quarter of the {buckets} buckets");
        expect("relative_attention_max_distance", &most, most > buckets / 4, &expected)?;
        let (dropout, epsilon) = (self.dropout_rate, self.layer_norm_epsilon);
        expect("dropout_rate", &dropout, (0.0..1.0).contains(&dropout), "at least 0 and less than 1")?;
        let is_fine = epsilon > 0.0 && epsilon.is_finite();
        expect("layer_norm_epsilon", &epsilon, is_fine, "a small positive number")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(buckets: usize, most: usize) -> T5Config {
        T5Config {
            vocab_size: 10,
            d_model: 8,
            d_kv: 4,
            d_ff: 16,
            num_layers: 1,
            num_heads: 2,
            relative_attention_num_buckets: buckets,
            relative_attention_max_distance: most,
            layer_norm_epsilon: 1e-6,
            dropout_rate: 0.1,
        }
    }

    #[test]
    fn impossible_sizes_are_refused_by_name() {
        assert!(config(32, 128).validate("t5").is_ok());
        let refused = |config: T5Config, expected: &str| {
            assert_eq!(config.validate("t5").unwrap_err().to_string(), expected);
        };
        refused(config(0, 128), "t5.relative_attention_num_buckets: got 0, expected a multiple of 4");
        refused(config(30, 128), "t5.relative_attention_num_buckets: got 30, expected a multiple of 4");
        refused(
            config(32, 8),
            "t5.relative_attention_max_distance: got 8, expected more than a quarter of the 32 buckets",
        );
        refused(T5Config { d_kv: 0, ..config(32, 128) }, "t5.d_kv: got 0, expected at least 1");
        refused(
            T5Config { dropout_rate: 1.0, ..config(32, 128) },
            "t5.dropout_rate: got 1, expected at least 0 and less than 1",
        );
        refused(
            T5Config { layer_norm_epsilon: 0.0, ..config(32, 128) },
            "t5.layer_norm_epsilon: got 0, expected a small positive number",
        );
    }
}
