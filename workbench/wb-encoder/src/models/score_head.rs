//! Layers that make a number of a text's state: those of transformers' `...ForSequenceClassification` with one label.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Activation, WeightInit, WeightSpec};
use crate::pooling::Pooling;

/// A head's names begin with this among the weights, and are transformers' own after it.
pub const PREFIX: &str = "score_head.";

/// Standard deviation of fresh weights, the `initializer_range` of nearly all models.
const FRESH_STD: f32 = 0.02;

/// Layers on a transformer that give one number for a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreHead {
    /// The state that they take.
    pub pooling: Pooling,
    /// A layer before the last, where there is one.
    pub inner: Option<InnerLayer>,
    /// The last layer, `[1, hidden]`.
    pub out: String,
    /// True where the last layer adds a bias.
    pub bias: bool,
}

/// A layer from a state to as many numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InnerLayer {
    /// The linear layer, `[hidden, hidden]`.
    pub name: String,
    /// True where the linear layer adds a bias.
    pub bias: bool,
    /// The function on its numbers.
    pub activation: InnerActivation,
    /// A layer normalization after it, where there is one.
    pub norm: Option<InnerNorm>,
}

/// The function between a head's two layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InnerActivation {
    /// tanh.
    Tanh,
    /// x·Φ(x).
    Gelu,
}

/// A layer normalization within a head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InnerNorm {
    /// Its name.
    pub name: String,
    /// True where it adds something.
    pub shift: bool,
    /// Added to the variance.
    pub epsilon: f64,
}

/// A transformer with its head in transformers' words.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredAs {
    /// Classes that have this head; the first is written.
    pub classes: &'static [&'static str],
    /// Stands before the names of the network's own weights in a file.
    pub holder: &'static str,
    /// The layers.
    pub head: ScoreHead,
}

impl ScoreHead {
    /// A dense layer and tanh on the first token's state, then the last layer.
    pub(crate) fn of_first_token(inner: &str, out: &str) -> Self {
        let inner = InnerLayer { name: inner.into(), bias: true, activation: InnerActivation::Tanh, norm: None };
        Self { pooling: Pooling::Cls, inner: Some(inner), out: out.into(), bias: true }
    }

    /// One layer on the last token's state, as decoders have it, without a bias.
    pub(crate) fn of_last_token() -> Self {
        Self { pooling: Pooling::Last, inner: None, out: "score".into(), bias: false }
    }

    /// The keys of a `config.json` that say which of such heads it is.
    pub fn write_keys(&self, config: &mut Value) {
        if let Some(InnerLayer { bias, norm: Some(_), .. }) = &self.inner {
            config["classifier_pooling"] = json!(self.pooling.hub_name());
            config["classifier_bias"] = json!(bias);
            config["classifier_activation"] = json!(Activation::Gelu.hub_name());
        }
    }

    /// Its weights for states of this width, as they begin.
    pub fn weights(&self, hidden: usize) -> Vec<WeightSpec> {
        let mut all = Vec::new();
        let mut push = |module: &str, part: &str, shape: &[usize], init| {
            all.push(WeightSpec { name: format!("{PREFIX}{module}.{part}"), shape: shape.to_vec(), init });
        };
        let drawn = WeightInit::Normal(FRESH_STD);
        if let Some(InnerLayer { name, bias, norm, .. }) = &self.inner {
            push(name, "weight", &[hidden, hidden], drawn);
            if *bias {
                push(name, "bias", &[hidden], WeightInit::Zeros);
            }
            if let Some(InnerNorm { name, shift, .. }) = norm {
                push(name, "weight", &[hidden], WeightInit::Ones);
                if *shift {
                    push(name, "bias", &[hidden], WeightInit::Zeros);
                }
            }
        }
        push(&self.out, "weight", &[1, hidden], drawn);
        if self.bias {
            push(&self.out, "bias", &[1], WeightInit::Zeros);
        }
        all
    }
}

/// True where a weight belongs to a head.
pub fn is_of_head(name: &str) -> bool {
    name.starts_with(PREFIX)
}
