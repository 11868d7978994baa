//! What stands before the first step of a training: its stages and losses, how long it is, and what it is measured on.

use super::{curriculum::Stage, objectives::Objectives, validate::Validation, views::Views};
use crate::losses::LossOnEmbeddings;

/// What a training goes through.
#[derive(Clone, Copy)]
pub struct Course<'a> {
    /// Its stages.
    pub stages: &'a [Stage],
    /// Their losses.
    pub losses: &'a [LossOnEmbeddings],
    /// What else is lowered.
    pub objectives: Option<&'a Objectives<'a>>,
    /// How texts are tokenized.
    pub views: &'a Views,
    /// How many steps.
    pub total: u64,
    /// How many epochs.
    pub epochs: f64,
    /// What it is measured on.
    pub held_out: &'a Validation,
    /// By which loss it is measured: that of the config, so that stages can be compared.
    pub loss: &'a LossOnEmbeddings,
}
