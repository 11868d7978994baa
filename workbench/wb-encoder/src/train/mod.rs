//! How weights learn: the training loop, and around it what it is made of.

pub mod checkpoint;
pub mod config;
pub mod journal;
pub mod objectives;
pub mod optimizer;
pub mod plan;
pub mod prefetch;
pub mod sampler;
pub mod schedule;
pub mod session;
pub mod step;
mod tensors;
pub mod texts;
pub mod token_dropout;
pub mod validate;

#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use wb_core::{PairSet, Progress, RunDir, Seed};

pub use config::{BatchConfig, Every, Keep, TrainConfig, ValidateConfig};
pub use objectives::{CodeTokens, ObjectivesConfig};
pub use optimizer::{AdamwConfig, OptimizerConfig};
pub use sampler::SamplerConfig;
pub use schedule::{Decay, ScheduleConfig, Warmup};
pub use texts::Tokenize;

use self::{
    objectives::Objectives,
    plan::Plan,
    prefetch::{BatchMaker, default_threads, with_batches},
    session::Session,
    texts::{PairTable, TokenCache},
    validate::Validation,
};
use crate::{Backbone, Result, losses::LossOnEmbeddings};

/// Bytes of token ids that are kept from epoch to epoch.
const TOKEN_CACHE: usize = 1 << 30;

/// What is trained on, and where it is written.
pub struct TrainJob<'a> {
    /// The pairs to learn from.
    pub pairs: &'a PairSet,
    /// Held-out pairs.
    pub validation: &'a PairSet,
    /// Text to token ids, from several threads at once.
    pub tokenize: &'a Tokenize<'a>,
    /// What objectives on tokens must know of texts; needed where the config names some.
    pub code: Option<CodeTokens<'a>>,
    /// Whether texts begin and end with special tokens, which token dropout must not take.
    pub special_ends: bool,
    /// How.
    pub config: &'a TrainConfig,
    /// Decides order, dropout and the choice of validation pairs.
    pub seed: Seed,
    /// Where journals and checkpoints go.
    pub files: TrainFiles,
    /// Goes on from the newest whole checkpoint, if there is one. Without it, files of an earlier training are an error.
    pub resume: bool,
    /// Set from outside to stop after the current step, with a checkpoint.
    pub stop: &'a AtomicBool,
}

/// Where training writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainFiles {
    /// One [`wb_core::records::journal::StepRecord`] a line.
    pub metrics: PathBuf,
    /// One [`wb_core::records::journal::ValidationRecord`] a line.
    pub validation: PathBuf,
    /// See [`checkpoint::Checkpoints`].
    pub checkpoints: PathBuf,
}

impl From<&RunDir> for TrainFiles {
    fn from(run: &RunDir) -> Self {
        Self { metrics: run.metrics(), validation: run.validation(), checkpoints: run.checkpoints() }
    }
}

/// How training ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainOutcome {
    /// Steps done, those before a resume included.
    pub steps: u64,
    /// Whether it was stopped before the last step; then the weights are those of `steps`.
    pub stopped: bool,
    /// The step whose weights validated best; 0 is before training.
    pub best_step: u64,
    /// Their validation MRR.
    pub best_mrr: f64,
    /// Wall-clock time of this session.
    pub seconds: f64,
    /// Pairs per second of this session's steps, without validation and checkpoints.
    pub pairs_per_second: f64,
    /// Pairs that no batch of an epoch could take, by epoch.
    pub left_out: Vec<usize>,
    /// Pairs with fewer hard negatives than `negatives` asks for, where any pair has some.
    pub short_of_negatives: usize,
    /// What the user should know: checkpoints that were found damaged.
    pub warnings: Vec<String>,
}

/// Trains a backbone, and leaves the best weights in it (or the last, as the config says).
///
/// Same backbone, pairs, config and seed give bitwise the same journals and weights on a CPU,
/// whether training was stopped and resumed in between or not.
pub fn train(
    backbone: &mut dyn Backbone,
    job: &TrainJob<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<TrainOutcome> {
    job.config.validate("train")?;
    backbone.set_gradient_checkpointing(job.config.gradient_checkpointing)?;
    let pairs = job.pairs.pairs();
    let objectives = Objectives::open(&job.config.objectives, job.code.as_ref(), pairs, job.seed, backbone)?;
    let outcome = run(backbone, job, objectives.as_ref(), progress);
    Objectives::close(backbone)?;
    outcome
}

fn run(
    backbone: &mut dyn Backbone,
    job: &TrainJob<'_>,
    objectives: Option<&Objectives<'_>>,
    progress: &mut dyn FnMut(Progress),
) -> Result<TrainOutcome> {
    let started = Instant::now();
    let config = job.config;
    let table = PairTable::new(job.pairs.pairs(), config.negatives);
    let plan = Plan::new(&table, config, job.seed)?;
    let loss = LossOnEmbeddings::new(config.similarity, &config.loss);
    progress(Progress::new("training", 0, plan.len() as usize).note("tokenizing validation pairs"));
    let validation =
        Validation::new(job.validation.pairs(), config.validate.pairs, config.batch.pairs, job.seed, job.tokenize)?;
    let mut session = Session::open(backbone, job, &loss, objectives, &validation, plan.len())?;
    let cache = TokenCache::new(table.texts(), TOKEN_CACHE);
    let maker = BatchMaker { table: &table, tokenize: job.tokenize, cache: &cache, loss: &loss };
    let left = &plan.steps[session.step() as usize..];
    let planned: Vec<&[u32]> = left.iter().flat_map(|step| step.batches.iter().map(Vec::as_slice)).collect();
    let every = config.validate.every.steps(plan.len());
    let stopped = with_batches(&maker, &planned, default_threads(), |mut batches| -> Result<bool> {
        let mut measured = session.validate_if_due(every, progress)?;
        for step in left {
            if !measured || job.stop.load(Ordering::Relaxed) {
                break;
            }
            session.update(step, &mut batches)?;
            measured = session.validate_if_due(every, progress)?;
            progress(Progress { stage: "training", done: session.step(), total: plan.len(), note: session.note() });
        }
        session.checkpoint()?;
        Ok(!measured || session.step() < plan.len())
    })?;

    let outcome = TrainOutcome {
        stopped,
        seconds: started.elapsed().as_secs_f64(),
        left_out: plan.left_out,
        short_of_negatives: short_of_negatives(job.pairs, config.negatives),
        ..session.outcome()
    };
    if !stopped && config.keep == Keep::Best {
        session.load_best()?;
    }
    Ok(outcome)
}

fn short_of_negatives(pairs: &PairSet, wanted: usize) -> usize {
    let most = pairs.pairs().iter().map(|pair| pair.negatives.len()).max().unwrap_or(0).min(wanted);
    pairs.pairs().iter().filter(|pair| pair.negatives.len() < most).count()
}
