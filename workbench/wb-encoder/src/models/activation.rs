//! Activations of feed-forward parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
