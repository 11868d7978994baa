//! The lines of `metrics.jsonl` and `validation.jsonl`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One optimizer step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// From 1.
    pub step: u64,
    /// Epochs done, with a fraction.
    pub epoch: f64,
    /// Curriculum stage, from 0.
    pub stage: u32,
    /// Mean loss of the batch, of its pairs alone.
    pub loss: f64,
    /// Losses of the objectives on tokens by name, before their weights; empty where there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub objectives: BTreeMap<String, f64>,
    /// Learning rate of the first parameter group.
    pub learning_rate: f64,
    /// Euclidean norm of all gradients before clipping.
    pub grad_norm: f64,
    /// Pairs in the batch.
    pub pairs: u64,
    /// Tokens in the batch without padding.
    pub tokens: u64,
}

/// One validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidationRecord {
    /// The step after which it was measured; 0 is before training.
    pub step: u64,
    /// Mean reciprocal rank over the validation pairs, each against all others' positives.
    pub mrr: f64,
    /// Share of pairs whose positive is first.
    pub recall_at_1: f64,
    /// Mean loss over the validation pairs, in batches like training's.
    pub loss: f64,
    /// How many pairs.
    pub pairs: u64,
    /// Whether this is the best so far.
    pub best: bool,
}
