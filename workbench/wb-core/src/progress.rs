//! Reports of libraries on how far they are; only the command draws it.

/// One report of a stage's progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Work that is being done, in the user's words: `reading sources`, `encoding documents`.
    pub stage: &'static str,
    /// Units done.
    pub done: u64,
    /// Units in all, 0 while it is not known.
    pub total: u64,
    /// A short remark: the current file, the part of a step; empty for none.
    pub note: String,
    /// More of a training, whose units are steps.
    pub training: Option<Box<TrainingNow>>,
}

impl Progress {
    /// Progress without a remark.
    pub fn new(stage: &'static str, done: usize, total: usize) -> Self {
        Self { stage, done: done as u64, total: total as u64, note: String::new(), training: None }
    }

    /// Progress with a remark.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Progress with what is known of a training.
    #[must_use]
    pub fn training(mut self, now: TrainingNow) -> Self {
        self.training = Some(Box::new(now));
        self
    }
}

/// State of a training, beside its step.
///
/// Numbers of one session: a training that goes on after a stop begins with none of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingNow {
    /// The last step; nothing before the first one.
    pub step: Option<StepNow>,
    /// The stage of the curriculum; nothing where there is none, or before the first step.
    pub stage: Option<StageNow>,
    /// Epochs of the whole training.
    pub epochs: f64,
    /// The validations so far; nothing before the first one.
    pub validation: Option<ValidationNow>,
    /// Pairs in the steps so far.
    pub pairs: u64,
    /// Seconds that these steps took, without validations, checkpoints and mining.
    pub seconds: f64,
    /// Seconds that validations, checkpoints and mining still to come will take, if each takes as long as the last one.
    pub seconds_besides: f64,
}

/// The last step of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepNow {
    /// Mean loss of its batch.
    pub loss: f64,
    /// Its learning rate.
    pub learning_rate: f64,
    /// Epochs done after it, with a fraction.
    pub epoch: f64,
}

/// The stage of a curriculum that a training is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageNow {
    /// Its name in the config.
    pub name: String,
    /// Its place in the curriculum, from 1.
    pub number: usize,
    /// Stages in all.
    pub of: usize,
}

/// The validations of a training so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValidationNow {
    /// Mean reciprocal rank of the last one; nothing before the first one of a session.
    pub mrr: Option<f64>,
    /// The highest one, also of the sessions before.
    pub best: f64,
    /// The step of the highest one.
    pub best_step: u64,
}

/// Listener for callers that do not want to know.
pub fn silent(_: Progress) {}
