//! CoSENT: scored pairs in the right order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Result;

use super::{
    LossConfig,
    labels::Labels,
    loss::{Loss, Needs, OwnScoresLoss},
    mnrl::positive,
};

/// CoSENT (consistent sentence embedding) for pairs with scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CosentConfig {
    /// Scores of the model are multiplied by this; the inverse of a temperature.
    pub scale: f64,
}

impl Default for CosentConfig {
    fn default() -> Self {
        Self { scale: 20.0 }
    }
}

/// CoSENT of a batch.
///
/// Each document with its own anchor is a scored pair, with the label t that the data gives it and the model's
/// score s: log(1 + Σ exp(scale·(s_j − s_i))) over all `i`, `j` of the batch with t_i > t_j. It is a sum over the batch,
/// not a mean: its gradient does not shrink with the batch. Computed in D·log D from sorted labels.
///
/// # Shapes
/// One score a document, `[D]`; without hard negatives one a pair, whose label is the pair's score.
///
/// Su 2022; Huang et al. 2024, 10.1109/TASLP.2024.3402087. Equals sentence-transformers' `CoSENTLoss`.
impl Loss for CosentConfig {
    fn needs(&self) -> Needs {
        Needs { loss: "cosent", scores: true, ..Needs::default() }
    }

    fn on_own_scores(&self) -> Option<&dyn OwnScoresLoss> {
        Some(self)
    }

    fn scale(&self) -> Option<f64> {
        Some(self.scale)
    }

    fn with_scale(&self, scale: f64) -> Option<LossConfig> {
        Some(LossConfig::Cosent(Self { scale }))
    }

    fn validate(&self, key: &str) -> Result<()> {
        positive(&format!("{key}.scale"), Some(self.scale), "20 suits cosines; it is the inverse of a temperature")
    }
}

impl OwnScoresLoss for CosentConfig {
    fn of_scores(&self, scores: &[f32], labels: &Labels) -> (f64, Vec<f32>) {
        let z: Vec<f64> = scores.iter().map(|score| f64::from(*score) * self.scale).collect();
        let targets = targets(labels);
        let mut order: Vec<usize> = (0..z.len()).collect();
        order.sort_by(|a, b| targets[*a].total_cmp(&targets[*b]));
        // Documents of one label do not meet each other: sums grow label by label.
        let groups: Vec<&[usize]> = order.chunk_by(|a, b| targets[*a] == targets[*b]).collect();
        // log Σ exp z_j over lower labels, and log Σ exp −z_i over higher ones.
        let lower = running(groups.iter().copied(), |at| z[at], z.len());
        let higher = running(groups.iter().rev().copied(), |at| -z[at], z.len());
        let total = (0..z.len()).map(|at| z[at] + higher[at]).fold(0.0, log_add);
        let gradient = |at: usize| {
            let as_lower = (z[at] + higher[at] - total).exp();
            let as_higher = (lower[at] - z[at] - total).exp();
            (self.scale * (as_lower - as_higher)) as f32
        };
        (total, (0..z.len()).map(gradient).collect())
    }
}

/// Per document log Σ exp `value` over the groups before its own; minus infinity in the first.
fn running<'a>(groups: impl Iterator<Item = &'a [usize]>, value: impl Fn(usize) -> f64, count: usize) -> Vec<f64> {
    let mut before = vec![f64::NEG_INFINITY; count];
    let mut sum = f64::NEG_INFINITY;
    for group in groups {
        group.iter().for_each(|at| before[*at] = sum);
        sum = group.iter().map(|at| value(*at)).fold(sum, log_add);
    }
    before
}

/// log(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Labels are checked before: all have scores. 0 and −0 are one label.
fn targets(labels: &Labels) -> Vec<f32> {
    labels.scores().iter().map(|score| score.unwrap_or_default() + 0.0).collect()
}
