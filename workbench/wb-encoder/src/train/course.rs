//! The part of a training that stands before its first step: its stages and losses, its length, and its held-out pairs.

use super::{curriculum::Stage, objectives::Objectives, validate::Validation, views::Views};
use crate::losses::LossOnEmbeddings;

/// The way that a training goes.
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
    /// Epochs of the whole training, with a fraction.
    pub epochs: f64,
    /// What it is measured on.
    pub held_out: &'a Validation,
    /// By which loss it is measured: that of the config, so that stages can be compared.
    pub loss: &'a LossOnEmbeddings,
}
