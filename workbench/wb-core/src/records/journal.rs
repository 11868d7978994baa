//! The lines of `metrics.jsonl` and `validation.jsonl`, and the stages of `curriculum.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One optimizer step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// From 1.
    pub step: u64,
    /// Epochs done, with a fraction.
    pub epoch: f64,
    /// Stage of the curriculum, from 0; 0 where there is none.
    pub stage: u32,
    /// Mean loss of the batch, of its pairs alone.
    pub loss: f64,
    /// Losses of the objectives on tokens by name, before their weights; empty where there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub objectives: BTreeMap<String, f64>,
    /// Learning rate of the first parameter group.
    pub learning_rate: f64,
    /// Euclidean norm of all gradients before clipping; 0 where the step was left out.
    pub grad_norm: f64,
    /// Factor of the loss in 16-bit floats; none where it is not scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<f64>,
    /// True where gradients overflowed and the step changed no weight.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Most tokens of a part of the batch, where a device's memory has run out; none where the config alone says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_tokens: Option<u64>,
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
    /// Mean loss over the validation pairs, in batches like training's; nothing where they lack what the loss needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Number of pairs.
    pub pairs: u64,
    /// True where this is the best so far.
    pub best: bool,
}

/// One stage of a curriculum, as it was planned: `curriculum.json` is the list of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// From 0, as in [`StepRecord::stage`].
    pub stage: u32,
    /// Its name in the config.
    pub name: String,
    /// Its first step, from 1.
    pub first_step: u64,
    /// Its last step.
    pub last_step: u64,
    /// Epochs done after it, with a fraction.
    pub epoch: f64,
    /// The data sets that its batches come from.
    pub datasets: Vec<String>,
    /// Pairs in them.
    pub pairs: u64,
    /// Most hard negatives of each pair.
    pub negatives: u64,
    /// Factor of the scores, where the loss has such a number; the inverse of a temperature.
    pub scale: Option<f64>,
    /// Factor of the scheduled learning rate.
    pub learning_rate_factor: f64,
    /// Longest anchor and longest document in tokens, where the stage has limits of its own.
    pub max_tokens: Option<[u64; 2]>,
}
