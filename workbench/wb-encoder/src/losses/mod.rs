//! The choice among losses: how a score matrix becomes one number to lower.

pub mod loss;
pub mod mnrl;
pub mod on_embeddings;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use loss::{Blocked, Loss, ScoreMatrix};
pub use mnrl::{Mnrl, MnrlConfig};
pub use on_embeddings::{LossGradients, LossOnEmbeddings};

/// Which loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossConfig {
    /// Multiple Negatives Ranking Loss.
    Mnrl(MnrlConfig),
}

impl Default for LossConfig {
    fn default() -> Self {
        Self::Mnrl(MnrlConfig::default())
    }
}

impl LossConfig {
    /// The loss, ready to use.
    pub fn init(&self) -> Box<dyn Loss> {
        match self {
            Self::Mnrl(config) => Box::new(config.init()),
        }
    }

    /// What scores are multiplied by before the softmax, where the loss has such a number: the inverse of a temperature.
    pub fn scale(&self) -> Option<f64> {
        match self {
            Self::Mnrl(config) => Some(config.scale),
        }
    }

    /// The same loss with another scale; none where it has no such number.
    pub fn with_scale(&self, scale: f64) -> Option<Self> {
        match self {
            Self::Mnrl(config) => Some(Self::Mnrl(MnrlConfig { scale, ..config.clone() })),
        }
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        match self {
            Self::Mnrl(config) => config.validate(&format!("{key}.mnrl")),
        }
    }
}
