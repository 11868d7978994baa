//! The part of a training that stands before its first step: its stages and losses, its length, and its held-out pairs.

use super::{curriculum::TrainStage, objectives::Objectives, validate::Validation, views::Views};
use crate::losses::LossOnEmbeddings;

/// The way that a training goes.
#[derive(Clone, Copy)]
pub struct Course<'a> {
    /// Its stages.
    pub stages: &'a [TrainStage],
    /// Their losses.
    pub losses: &'a [LossOnEmbeddings],
    /// Objectives that are lowered beside the loss on pairs.
    pub objectives: Option<&'a Objectives<'a>>,
    /// Tokenization of the texts.
    pub views: &'a Views,
    /// Number of steps.
    pub total: u64,
    /// Epochs of the whole training, with a fraction.
    pub epochs: f64,
    /// Held-out pairs that it is measured on.
    pub held_out: &'a Validation,
    /// Loss that it is measured by: that of the config, so that stages can be compared.
    pub loss: &'a LossOnEmbeddings,
}
