//! The `lora:` section: which layers get an adapter, and how large.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{patterns::Patterns, targets::Targets};
use crate::error::{Error, Result, expect_value};

/// Layers that get an adapter, and its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoraConfig {
    /// Inner width of an adapter; its numbers and its optimizer state grow with it.
    pub rank: usize,
    /// The adapter's output is multiplied by alpha / rank.
    pub alpha: f64,
    /// Dropout on the adapter's input while training, 0 to below 1.
    pub dropout: f64,
    /// Linear layers that get an adapter: a list of names or their endings (`output.dense`), one text as a pattern for
    /// whole names (`.*\.(query|value)`), or `all-linear`.
    pub targets: Targets,
    /// Multiplies by alpha / √rank instead, so that high ranks learn as fast as low ones.
    pub use_rslora: bool,
    /// Learns the lengths of the weights' rows too (DoRA, Liu et al. 2024); a step multiplies by each adapted weight
    /// twice.
    pub use_dora: bool,
    /// Ranks of their own, by a pattern for the end of a layer's name: `{ "layer.0.*query": 2 }`. The first that fits
    /// counts.
    pub rank_pattern: Patterns<usize>,
    /// Alphas of their own, by a pattern for the end of a layer's name.
    pub alpha_pattern: Patterns<f64>,
    /// Modules that train whole, by the ending of their name: `[embeddings.LayerNorm]`.
    pub modules_to_save: Vec<String>,
}

impl Default for LoraConfig {
    fn default() -> Self {
        Self {
            rank: 8,
            alpha: 16.0,
            dropout: 0.1,
            targets: Targets::Names(vec!["query".into(), "value".into()]),
            use_rslora: false,
            use_dora: false,
            rank_pattern: Patterns::default(),
            alpha_pattern: Patterns::default(),
            modules_to_save: Vec::new(),
        }
    }
}

impl LoraConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        expect_value(format!("{key}.rank"), self.rank, self.rank > 0, "at least 1")?;
        expect_value(format!("{key}.alpha"), self.alpha, positive(self.alpha), "a positive number")?;
        let is_fine = (0.0..1.0).contains(&self.dropout);
        expect_value(format!("{key}.dropout"), self.dropout, is_fine, "at least 0 and less than 1")?;
        self.targets.validate(&format!("{key}.targets"))?;
        self.rank_pattern.validate(&format!("{key}.rank_pattern"), "at least 1", |rank| rank > 0)?;
        self.alpha_pattern.validate(&format!("{key}.alpha_pattern"), "a positive number", positive)?;
        if self.modules_to_save.iter().any(String::is_empty) {
            let message = "holds an empty name, which every module ends with";
            return Err(Error::value(format!("{key}.modules_to_save"), message));
        }
        Ok(())
    }

    /// The rank of a layer.
    pub fn rank_of(&self, layer: &str) -> usize {
        self.rank_pattern.of(layer).unwrap_or(self.rank)
    }

    /// The alpha of a layer.
    pub fn alpha_of(&self, layer: &str) -> f64 {
        self.alpha_pattern.of(layer).unwrap_or(self.alpha)
    }

    /// s of a rank and an alpha.
    pub(super) fn scale(&self, rank: usize, alpha: f64) -> f32 {
        let rank = rank as f64;
        (alpha / if self.use_rslora { rank.sqrt() } else { rank }) as f32
    }
}

fn positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}
