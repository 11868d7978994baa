//! Training of weights: the training loop, and around it what it is made of.

pub mod checkpoint;
pub mod clock;
pub mod config;
pub mod course;
pub mod curriculum;
pub mod ema;
pub mod epochs;
pub mod guide_cache;
pub mod interpolate;
pub mod journal;
pub mod lints;
pub mod loss_scale;
mod made_with;
pub mod meeting;
pub mod micro_tokens;
pub mod mix;
pub mod moment;
pub mod objectives;
pub mod optimizer;
pub mod pair_step;
pub mod plan;
pub mod prefetch;
pub mod refresh;
pub mod sampler;
pub mod schedule;
pub mod session;
pub mod state;
pub mod step;
pub mod table;
pub mod teacher;
mod tensors;
pub mod texts;
pub mod token_cache;
pub mod token_dropout;
pub mod validate;
mod validate_pairs;
pub mod views;

#[cfg(test)]
mod tests;

use std::{path::PathBuf, time::Instant};

use wb_core::{Encoder, PairSet, Progress, RunDir, Seed, run_dir::write_json};

pub use config::{BatchConfig, BatchFrom, Every, Keep, TrainConfig, ValidateConfig};
pub use curriculum::{StageConfig, Until};
pub use lints::{DataFacts, lints};
pub use meeting::Meeting;
pub use micro_tokens::MicroTokens;
pub use mix::MixConfig;
pub use moment::Moment;
pub use objectives::{CodeTokens, ObjectivesConfig};
pub use optimizer::{AdamwConfig, OptimizerConfig};
pub use refresh::{Refresh, RefreshConfig, RefreshedNegatives};
pub use sampler::SamplerConfig;
pub use schedule::{Decay, ScheduleConfig, Warmup};
pub use table::{PairStream, TrainPairs};
pub use teacher::FittedTeacher;
pub use token_cache::{Tokenize, TokenizeRequest};
pub use validate_pairs::VALIDATION_CANDIDATES;
pub use views::{ColumnPrompts, PromptsConfig};

use self::{
    course::Course,
    guide_cache::{CachedGuide, GUIDE_CACHE},
    interpolate::Before,
    objectives::Objectives,
    plan::TrainPlan,
    prefetch::{BatchMaker, PlannedBatch, default_threads, with_batches},
    session::Session,
    table::PairTable,
    token_cache::TokenCache,
    validate::Validation,
    views::Views,
};
use crate::{
    backbone::Backbone,
    error::{Error, Result},
    losses::LossOnEmbeddings,
    precision::Precision,
    stop::Stop,
};

/// Bytes of token ids that are kept from epoch to epoch.
const TOKEN_CACHE: usize = 1 << 30;

/// The data and settings of a training, and the files that it writes.
pub struct TrainJob<'a> {
    /// The pairs to learn from.
    pub pairs: TrainPairs<'a>,
    /// Held-out pairs.
    pub validation: &'a PairSet,
    /// Text to token ids, from several threads at once.
    pub tokenize: &'a Tokenize<'a>,
    /// The point at which queries and documents meet.
    pub meeting: Meeting<'a>,
    /// Knowledge of texts that objectives on tokens need; needed where the config names some.
    pub code: Option<CodeTokens<'a>>,
    /// Special tokens before and after every text, which token dropout must not take; a marker of its side is one.
    pub special_tokens: [usize; 2],
    /// Settings of the training.
    pub config: &'a TrainConfig,
    /// Decides order, dropout and the choice of validation pairs.
    pub seed: Seed,
    /// Mines hard negatives, where the config asks for that while training.
    pub refresh: Option<&'a Refresh<'a>>,
    /// Embeds the texts of each batch too, where the loss asks a guide.
    pub guide: Option<&'a Guide<'a>>,
    /// Places of journals and checkpoints.
    pub files: TrainFiles,
    /// Goes on from the newest whole checkpoint, if there is one. Without it, files of an earlier training are an error.
    pub resume: bool,
    /// The version and the commit that trains, in words. A training that another one began is not gone on with: from one
    /// commit to the next the same step may give other bytes.
    pub build: &'a str,
    /// Set from outside to stop soon, with a checkpoint of the last whole step. It is looked at between steps, between
    /// batches and parts of a step, and inside of the passes of backbones that can; what there is of the step is dropped.
    pub stop: &'a Stop,
}

/// A second encoder, which is asked from several threads at once and does not train.
pub type Guide<'a> = dyn Encoder + Sync + 'a;

/// Files that training writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainFiles {
    /// One [`wb_core::records::journal::StepRecord`] a line.
    pub metrics: PathBuf,
    /// One [`wb_core::records::journal::ValidationRecord`] a line.
    pub validation: PathBuf,
    /// The list of [`wb_core::records::journal::StageRecord`]s; written where there is a curriculum.
    pub curriculum: PathBuf,
    /// See [`checkpoint::Checkpoints`].
    pub checkpoints: PathBuf,
}

impl From<&RunDir> for TrainFiles {
    fn from(run: &RunDir) -> Self {
        Self {
            metrics: run.metrics(),
            validation: run.validation(),
            curriculum: run.curriculum(),
            checkpoints: run.checkpoints(),
        }
    }
}

/// End of a training.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainOutcome {
    /// Steps done, those before a resume included.
    pub steps: u64,
    /// True where it was stopped before the last step; then the weights are those of `steps`.
    pub stopped: bool,
    /// The step whose weights validated best; 0 is before training.
    pub best_step: u64,
    /// Their validation MRR.
    pub best_mrr: f64,
    /// Wall-clock time of this session.
    pub seconds: f64,
    /// Pairs per second of this session's steps, without validation and checkpoints.
    pub pairs_per_second: f64,
    /// Share of what a device computed in this session that was padding beside shorter texts; none on the processor.
    pub padding: Option<f64>,
    /// Pairs that no batch of an epoch holds, by epoch.
    pub left_out: Vec<usize>,
    /// Pairs that brought fewer hard negatives than those that brought most, of those that are asked for.
    pub short_of_negatives: usize,
    /// Warnings for the user: checkpoints that were found damaged, stages that were not reached.
    pub warnings: Vec<String>,
}

/// Trains a backbone, and leaves the best weights in it (or the last, as the config says).
///
/// Same backbone, pairs, config and seed give bitwise the same journals and weights on a CPU,
/// whether training was stopped and resumed in between or not.
/// Stopped before it stands at a step, while a guide embeds held-out pairs, it is [`Error::Stopped`].
pub fn train(
    backbone: &mut dyn Backbone,
    job: &TrainJob<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<TrainOutcome> {
    backbone.watch(job.stop.clone());
    let outcome = train_with_heads(backbone, job, progress);
    backbone.watch(Stop::default());
    let closed = close(backbone);
    // What went wrong first is what to tell.
    outcome.and_then(|outcome| closed.map(|()| outcome))
}

/// Leaves an encoder: in host memory, without the heads of objectives, computed in 32 bits.
fn close(backbone: &mut dyn Backbone) -> Result<()> {
    backbone.resident().map_or(Ok(()), |resident| resident.leave())?;
    Objectives::close(backbone)?;
    backbone.set_precision(Precision::Fp32)
}

fn train_with_heads(
    backbone: &mut dyn Backbone,
    job: &TrainJob<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<TrainOutcome> {
    let started = Instant::now();
    let config = job.config;
    config.validate("train")?;
    backbone.set_gradient_checkpointing(config.gradient_checkpointing)?;
    backbone.set_precision(config.precision)?;
    if config.refresh.is_some() && job.refresh.is_none() {
        return Err(Error::value("train.refresh", "there is nothing here that mines hard negatives"));
    }
    let guide = if config.loss.needs().guide { job.guide } else { None };
    if config.loss.needs().guide && guide.is_none() {
        let message = format!("the loss asks a {}, and there is none here", config.loss.guide_key());
        return Err(Error::value("train.loss", message));
    }
    if let Some(guide) = guide.filter(|_| config.loss.needs().guide_dim) {
        teacher::check_dim(guide.dim(), backbone.dim(), &config.loss)?;
    }
    progress(Progress::new("planning steps", 0, 0));
    let mut table = PairTable::new(job.pairs, curriculum::most_negatives(config), &job.files.checkpoints)?;
    let plan = TrainPlan::new(&table, config, job.seed)?;
    let short_of_negatives = table.short_of_negatives();
    if config.refresh.is_none() {
        table.freeze();
    }
    progress(Progress::new("planning steps", 0, 0).note("tokenizing validation pairs"));
    let loss = LossOnEmbeddings::new(config.similarity, &config.loss);
    loss.check_dim(backbone.dim())?;
    job.meeting.check(&loss)?;
    table.check(loss.needs(), config)?;
    let held_out = Validation::new(job.validation.pairs(), &loss, config, job.seed, job.tokenize, guide)
        .map_err(|error| unless_stopped(job.stop, error))?;
    let of_stage = |stage: &curriculum::TrainStage| LossOnEmbeddings::new(config.similarity, &stage.loss);
    let losses: Vec<LossOnEmbeddings> = plan.stages.iter().map(of_stage).collect();
    let views = Views::new(&plan.stages, table.datasets(), &config.prompts);
    let objectives = Objectives::open(&config.objectives, job.code.as_ref(), &table, job.seed, backbone)?;
    let course = Course {
        stages: &plan.stages,
        losses: &losses,
        objectives: objectives.as_ref(),
        views: &views,
        total: plan.len(),
        epochs: plan.steps.last().map_or(0.0, |step| step.epoch),
        held_out: &held_out,
        loss: &loss,
    };
    let before = Before::of(config.interpolate, backbone.parameters())?;
    let mut session = Session::open(backbone, job, course)?;
    // Where it goes on from, before the first step: what is done by then took no time.
    progress(session.progress());
    if !config.curriculum.is_empty() {
        write_json(&job.files.curriculum, &plan.records(&table))?;
    }
    let cache = TokenCache::new(TOKEN_CACHE);
    let cached_guide = guide.map(|guide| CachedGuide::new(guide, GUIDE_CACHE));
    let mut to_the_end = || loop {
        // From one refresh of the hard negatives to the next; all at once where there is none.
        let more = session.step() < plan.len();
        if more && (job.stop.is_set() || !session.refresh(&mut table, progress)?) {
            return Ok(true);
        }
        let end = config.refresh.map_or(plan.len(), |refresh| refresh.next(session.step(), plan.len()));
        let maker = BatchMaker {
            table: &table,
            tokenize: job.tokenize,
            cache: &cache,
            views: &views,
            stages: &plan.stages,
            guide: cached_guide.as_ref(),
        };
        if run(&mut session, &plan, end, &maker, job, progress)? {
            return Ok(true);
        }
        if session.step() == plan.len() {
            return Ok(false);
        }
    };
    let ended = to_the_end();
    let stopped = ended.map_err(|error| session.ended_by(error))?;
    session.checkpoint()?;

    let mut outcome = TrainOutcome {
        stopped,
        seconds: started.elapsed().as_secs_f64(),
        left_out: plan.left_out,
        short_of_negatives,
        ..session.outcome()
    };
    outcome.warnings.extend(plan.notes);
    if !stopped {
        session.keep(config.keep)?;
        if let Some(before) = before {
            backbone.update(&mut |parameters| before.apply(parameters))?;
        }
    }
    Ok(outcome)
}

/// Turns the error of a guide that was broken off, which says only that it was, into [`Error::Stopped`].
fn unless_stopped(stop: &Stop, error: Error) -> Error {
    if stop.is_set() { Error::Stopped } else { error }
}

/// Trains up to a step. True where it was stopped before that.
fn run(
    session: &mut Session<'_>,
    plan: &TrainPlan,
    end: u64,
    maker: &BatchMaker<'_>,
    job: &TrainJob<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<bool> {
    let every = job.config.validate.every.steps(plan.len());
    let steps = &plan.steps[session.step() as usize..end as usize];
    let batches = steps.iter().flat_map(|step| step.batches.iter().map(|batch| (step.stage, batch.as_slice())));
    let planned: Vec<PlannedBatch<'_>> = batches.collect();
    with_batches(maker, &planned, default_threads(), |mut batches| {
        let mut measured = session.validate_if_due(every, progress)?;
        for step in steps {
            if !measured || job.stop.is_set() {
                break;
            }
            if !session.update(step, maker.table, &mut batches)? {
                break;
            }
            measured = session.validate_if_due(every, progress)?;
            progress(session.progress());
        }
        Ok(!measured || session.step() < end)
    })
}
