//! ModernBERT: gte-modernbert, ModernBERT-base as the base of late interaction.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Activation, HubKeys, InnerActivation, InnerLayer, InnerNorm, ScoreHead, ScoredAs, Transformer, TransformerSizes,
    stack::{HeadSizes, LinearSpec, NormKind, NormOrder, Reach, Rotary, Stack, StackDropout, StackLayer},
    transformer_config::HubTokens,
};
use crate::{
    error::{Result, expect_value},
    pooling::Pooling,
};

/// ModernBERT (Warner et al. 2024, arXiv 2412.13663): most layers look at a window, some at the whole text, each kind
/// with a rotary base of its own. Weights are named as in `model.safetensors` without a leading `model.`:
///
/// - `embeddings.tok_embeddings.weight`, `embeddings.norm.weight`;
/// - `layers.N.attn_norm.weight` (the first layer has none), `layers.N.attn.Wqkv.weight`, `[3 · hidden, hidden]`,
///   `layers.N.attn.Wo.weight`;
/// - `layers.N.mlp_norm.weight`, `layers.N.mlp.Wi.weight`, `[2 · intermediate, hidden]`, the gate first,
///   `layers.N.mlp.Wo.weight`;
/// - `final_norm.weight`;
/// - a `.bias` beside each where `norm_bias`, `attention_bias` or `mlp_bias` says so.
///
/// Equal to transformers' `ModernBertModel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModernBertConfig {
    /// Sizes; the heads divide the width.
    #[serde(flatten)]
    pub sizes: TransformerSizes,
    /// Added to the variance in normalization.
    pub norm_eps: f64,
    /// Normalizations add something.
    pub norm_bias: bool,
    /// Linear layers of the attention add a bias.
    pub attention_bias: bool,
    /// Linear layers of the feed-forward part add a bias.
    pub mlp_bias: bool,
    /// Activation of the gate.
    pub activation: Activation,
    /// Tokens that a window holds; half of them on either side.
    pub local_attention: usize,
    /// One layer in so many, from the first on, looks at the whole text.
    pub global_attn_every_n_layers: usize,
    /// Base of the rotary positions of layers that look at the whole text.
    pub global_rope_theta: f64,
    /// Base of the rotary positions of layers that look at a window.
    pub local_rope_theta: f64,
    /// Dropout on the embeddings while training.
    pub embedding_dropout: f64,
    /// Dropout on attention probabilities, and on the attention's output, while training.
    pub attention_dropout: f64,
    /// Dropout between the feed-forward products while training.
    pub mlp_dropout: f64,
}

impl Transformer for ModernBertConfig {
    fn model_types() -> &'static [&'static str] {
        &["modernbert"]
    }

    fn from_hub(hub: &HubKeys) -> Result<Self> {
        hub.refuse_remote_code()?;
        let every = hub.size_if("global_attn_every_n_layers")?;
        // The defaults are transformers' own.
        let sizes = TransformerSizes::from_hub(hub, 8192)?;
        Ok(Self {
            sizes,
            norm_eps: hub.real("norm_eps", 1e-5)?,
            norm_bias: hub.flag("norm_bias", false)?,
            attention_bias: hub.flag("attention_bias", false)?,
            mlp_bias: hub.flag("mlp_bias", false)?,
            activation: hub.activation("hidden_activation", "gelu")?,
            local_attention: hub.size_if("local_attention")?.unwrap_or(128),
            global_attn_every_n_layers: match hub.get("layer_types") {
                None => every.unwrap_or(3),
                Some(types) => period(types, sizes.num_hidden_layers).ok_or_else(|| {
                    let message = format!("has layer_types {types}, expected `full_attention` at every so many layers");
                    hub.refuse(message, "a list has one of full_attention and sliding_attention for each layer")
                })?,
            },
            global_rope_theta: hub.rotary_base(Some("full_attention"), "global_rope_theta", 160_000.0)?,
            local_rope_theta: hub.rotary_base(Some("sliding_attention"), "local_rope_theta", 10_000.0)?,
            embedding_dropout: hub.real("embedding_dropout", 0.0)?,
            attention_dropout: hub.real("attention_dropout", 0.0)?,
            mlp_dropout: hub.real("mlp_dropout", 0.0)?,
        })
    }

    fn to_hub(&self, _: HubTokens) -> Value {
        let kind = |layer| if self.is_global(layer) { "full_attention" } else { "sliding_attention" };
        let layer_types: Vec<&str> = (0..self.sizes.num_hidden_layers).map(kind).collect();
        self.sizes.to_hub(json!({
            "architectures": ["ModernBertModel"],
            "attention_bias": self.attention_bias,
            "attention_dropout": self.attention_dropout,
            "classifier_pooling": "mean",
            "embedding_dropout": self.embedding_dropout,
            "global_attn_every_n_layers": self.global_attn_every_n_layers,
            "global_rope_theta": self.global_rope_theta,
            "hidden_activation": self.activation.hub_name(),
            "initializer_range": 0.02,
            "layer_types": layer_types,
            "local_attention": self.local_attention,
            "local_rope_theta": self.local_rope_theta,
            "mlp_bias": self.mlp_bias,
            "mlp_dropout": self.mlp_dropout,
            "model_type": "modernbert",
            "norm_bias": self.norm_bias,
            "norm_eps": self.norm_eps,
            // Both forms of the bases, of version 5 of transformers and of those before.
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": self.global_rope_theta},
                "sliding_attention": {"rope_type": "default", "rope_theta": self.local_rope_theta},
            },
        }))
    }

    fn scored_as(&self, keys: Option<&HubKeys>) -> Result<Option<ScoredAs>> {
        let head = self.score_head(keys)?;
        Ok(Some(ScoredAs { classes: &["ModernBertForSequenceClassification"], holder: "model.", head }))
    }

    fn kind(&self) -> &'static str {
        "modernbert"
    }

    fn transformers_version(&self) -> [u32; 2] {
        [4, 48]
    }

    fn stack(&self) -> Stack {
        let TransformerSizes { hidden_size: hidden, intermediate_size: wide, num_attention_heads, .. } = self.sizes;
        let heads = HeadSizes::plain(num_attention_heads, hidden / num_attention_heads.max(1));
        let layer = |layer: usize| {
            let name = |part: &str| format!("layers.{layer}.{part}");
            let linear = |part: &str, inputs, outputs, bias| LinearSpec { name: name(part), inputs, outputs, bias };
            let half = self.local_attention / 2;
            let (reach, base) = match self.is_global(layer) {
                true => (Reach::ALL, self.global_rope_theta),
                false => (Reach { before: half, after: half }, self.local_rope_theta),
            };
            StackLayer {
                attention_norm: (layer > 0).then(|| name("attn_norm")),
                projections: vec![linear("attn.Wqkv", hidden, 3 * hidden, self.attention_bias)],
                head_norms: None,
                rotary: Some(Rotary { size: heads.size, base }),
                reach,
                attention_output: linear("attn.Wo", hidden, hidden, self.attention_bias),
                attention_update_norm: None,
                feed_forward_norm: name("mlp_norm"),
                inner: vec![linear("mlp.Wi", hidden, 2 * wide, self.mlp_bias)],
                output: linear("mlp.Wo", wide, hidden, self.mlp_bias),
                feed_forward_update_norm: None,
            }
        };
        Stack {
            vocab_size: self.sizes.vocab_size,
            width: hidden,
            max_tokens: Some(self.sizes.max_position_embeddings),
            heads,
            wide,
            gated: true,
            activation: self.activation,
            norm: NormKind::Layer { shift: self.norm_bias },
            epsilon: self.norm_eps,
            order: NormOrder::Before,
            words: "embeddings.tok_embeddings.weight".into(),
            word_scale: 1.0,
            positions: None,
            token_types: None,
            embedding_norm: Some("embeddings.norm".into()),
            distances: None,
            layers: (0..self.sizes.num_hidden_layers).map(layer).collect(),
            final_norm: Some("final_norm".into()),
            dropout: StackDropout {
                embeddings: self.embedding_dropout,
                attention: self.attention_dropout,
                attention_output: self.attention_dropout,
                inner: self.mlp_dropout,
                ..StackDropout::default()
            },
        }
    }

    fn validate(&self, key: &str) -> Result<()> {
        let TransformerSizes { hidden_size, num_attention_heads: heads, .. } = self.sizes;
        let every = self.global_attn_every_n_layers;
        expect_value(format!("{key}.global_attn_every_n_layers"), every, every > 0, "at least 1")?;
        self.stack().validate(key)?;
        let expected = format!("a divisor of hidden_size {hidden_size} that leaves heads of an even size");
        let is_fine = hidden_size.is_multiple_of(2 * heads);
        expect_value(format!("{key}.num_attention_heads"), heads, is_fine, &expected)
    }
}

impl ModernBertConfig {
    /// A dense layer, GELU and a normalization on the first token's state or the mean, then the last layer. `keys` are
    /// those of a file that has such a head; without it they are transformers' own defaults.
    fn score_head(&self, keys: Option<&HubKeys>) -> Result<ScoreHead> {
        let (mut pooling, mut bias) = (Pooling::Cls, false);
        if let Some(keys) = keys {
            bias = keys.flag("classifier_bias", false)?;
            pooling = match keys.text("classifier_pooling", "cls")?.as_str() {
                "cls" => Pooling::Cls,
                "mean" => Pooling::Mean,
                other => return Err(keys.refuse(format!("has classifier_pooling `{other}`, expected cls or mean"), "")),
            };
            let activation = keys.activation("classifier_activation", "gelu")?;
            if activation != Activation::Gelu {
                let message = format!("has classifier_activation `{}`, expected gelu", activation.hub_name());
                return Err(keys.refuse(message, ""));
            }
        }
        let norm = InnerNorm { name: "head.norm".into(), shift: self.norm_bias, epsilon: self.norm_eps };
        let (name, activation) = ("head.dense".into(), InnerActivation::Gelu);
        let inner = InnerLayer { name, bias, activation, norm: Some(norm) };
        Ok(ScoreHead { pooling, inner: Some(inner), out: "classifier".into(), bias: true })
    }

    fn is_global(&self, layer: usize) -> bool {
        layer.is_multiple_of(self.global_attn_every_n_layers)
    }
}

/// The number of layers from one that looks at the whole text to the next, where a list of kinds has one from its first
/// on.
fn period(types: &Value, layers: usize) -> Option<usize> {
    let types: Vec<&str> = types.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
    let every = types.iter().skip(1).position(|kind| *kind == "full_attention").map_or(layers.max(1), |at| at + 1);
    let expected = |layer: usize| if layer.is_multiple_of(every) { "full_attention" } else { "sliding_attention" };
    (types.len() == layers && types.iter().enumerate().all(|(at, kind)| *kind == expected(at))).then_some(every)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_layers_are_periodic_or_refused() {
        let of = |text: &str| {
            let kind = |c| if c == 'f' { "full_attention" } else { "sliding_attention" };
            period(&json!(text.chars().map(kind).collect::<Vec<_>>()), text.len())
        };
        assert_eq!(of("fssfssf"), Some(3));
        assert_eq!(of("fff"), Some(1));
        assert_eq!(of("fss"), Some(3));
        assert_eq!(of("sssf"), None);
        assert_eq!(of("fsfss"), None);
        assert_eq!(period(&json!(["full_attention"]), 2), None);
        assert_eq!(period(&json!(["full_attention", 1]), 2), None);
    }
}
