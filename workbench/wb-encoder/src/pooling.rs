//! From token states to one vector.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Way from token states to one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean over all tokens, special tokens included.
    #[default]
    Mean,
    /// The mean in which the first token weighs 1, the second 2, and so on (Muennighoff 2022, arXiv 2202.08904).
    WeightedMean,
    /// The first token.
    Cls,
    /// The last token.
    Last,
}

impl Pooling {
    /// All ways.
    pub const ALL: [Self; 4] = [Self::Mean, Self::WeightedMean, Self::Cls, Self::Last];

    /// sentence-transformers' name of it: the `pooling_mode` of `1_Pooling/config.json`.
    pub fn hub_name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::WeightedMean => "weightedmean",
            Self::Cls => "cls",
            Self::Last => "lasttoken",
        }
    }

    /// Weight of one token's state in the vector of a text of so many; the weights of a text sum to 1.
    pub fn weight(self, token: usize, tokens: usize) -> f32 {
        match self {
            Self::Mean => 1.0 / tokens as f32,
            Self::WeightedMean => (2.0 * (token + 1) as f64 / (tokens as f64 * (tokens + 1) as f64)) as f32,
            Self::Cls => f32::from(token == 0),
            Self::Last => f32::from(token + 1 == tokens),
        }
    }
}
