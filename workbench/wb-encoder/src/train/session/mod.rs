//! A training under way: the backbone, its optimizer, its journals and checkpoints, and where it stands.

mod update;

use std::time::Instant;

use wb_core::{
    Progress,
    fingerprint::Fingerprint,
    progress::{StageNow, StepNow, TrainingNow, ValidationNow},
    records::journal::{StepRecord, ValidationRecord},
};

use super::{
    TrainJob, TrainOutcome,
    checkpoint::{Checkpoints, Kept},
    clock::{Clock, seconds_since},
    config::Keep,
    course::Course,
    journal::Journal,
    made_with::made_with,
    state::TrainState,
    table::PairTable,
    validate::ValidationScores,
};
use crate::{
    backbone::{Backbone, Padding},
    error::{Error, Result, is_lost_rank},
    stop::Stop,
};

/// A training under way.
pub struct Session<'a> {
    backbone: &'a mut dyn Backbone,
    job: &'a TrainJob<'a>,
    course: Course<'a>,
    state: TrainState,
    negatives: Option<(u64, Fingerprint)>,
    metrics: Journal,
    validations: Journal,
    checkpoints: Checkpoints,
    step: u64,
    saved: bool,
    validated: Option<u64>,
    best: Option<(u64, f64)>,
    last: Option<StepRecord>,
    last_mrr: Option<f64>,
    pairs_done: u64,
    clock: Clock,
    warnings: Vec<String>,
}

impl<'a> Session<'a> {
    /// Begins, or goes on from the newest whole checkpoint.
    pub fn open(backbone: &'a mut dyn Backbone, job: &'a TrainJob<'a>, course: Course<'a>) -> Result<Self> {
        if course.held_out.is_empty() && job.config.keep == Keep::Best {
            return Err(Error::value("train.keep", "`best` needs validation pairs, and there are none")
                .with_hint("train.keep=last, or a bigger share of pairs for validation"));
        }
        let mut state = TrainState::new(job.config, backbone.parameters())?;
        let config = serde_json::to_value(job.config).unwrap_or_default();
        let checkpoints = Checkpoints::open(
            &job.files.checkpoints,
            made_with(job, backbone.parameters(), course.objectives)?,
            config,
        )?;
        let (kept, warnings) =
            if job.resume { checkpoints.newest()? } else { (None, refuse_old_files(job, &checkpoints)?) };
        kept.as_ref().map_or(Ok(()), |kept| checkpoints.tidy(kept))?;
        let warnings: Vec<String> = warnings.into_iter().chain(course.held_out.warning()).collect();
        let step = kept.as_ref().map(|kept| kept.step);
        let (metrics, steps, _) = Journal::open(&job.files.metrics, step)?;
        let (validations, _, validated) = Journal::open(&job.files.validation, step)?;
        if let Some(step) = step {
            if steps != step {
                let message = format!("holds {steps} steps, expected the {step} before the checkpoint");
                return Err(Error::data(job.files.metrics.display().to_string(), message));
            }
            let mut loaded = Ok(());
            backbone.update(&mut |parameters| loaded = checkpoints.load_weights(step, false, parameters))?;
            loaded?;
            checkpoints.load_optimizer(step, backbone.parameters(), &mut state.optimizer, state.average.as_mut())?;
        }
        let (mut best, mut negatives) = (None, None);
        if let Some(kept) = kept {
            state.loss_scale = state.loss_scale.and(kept.loss_scale);
            state.optimizer.steps -= state.loss_scale.map_or(0, |scale| scale.skipped);
            state.micro_tokens = kept.micro_tokens.unwrap_or(state.micro_tokens);
            (best, negatives) = (kept.best, kept.negatives);
        }
        state.settle(backbone)?;
        Ok(Self {
            backbone,
            job,
            course,
            state,
            negatives,
            metrics,
            validations,
            checkpoints,
            step: step.unwrap_or(0),
            saved: step.is_some(),
            validated,
            best,
            last: None,
            last_mrr: None,
            pairs_done: 0,
            clock: Clock::default(),
            warnings,
        })
    }

    /// Steps done.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Puts the hard negatives of this step in place: those of the last refresh, which is now or was before the resume.
    /// False where mining was stopped from outside; it is done after a resume.
    pub fn refresh(&mut self, table: &mut PairTable<'_>, progress: &mut dyn FnMut(Progress)) -> Result<bool> {
        let (Some(config), Some(mine)) = (&self.job.config.refresh, self.job.refresh) else { return Ok(true) };
        let Some(due) = config.last(self.step, self.course.total) else { return Ok(true) };
        let most = super::curriculum::most_negatives(self.job.config);
        if let Some(kept) = self.negatives.as_ref().filter(|(step, _)| *step == due) {
            table.set_negatives(self.checkpoints.read_negatives(kept)?, most)?;
            return Ok(true);
        }
        if due != self.step {
            let message = format!("has no hard negatives of step {due}, with which step {} goes on", self.step + 1);
            return Err(Error::data(self.job.files.checkpoints.display().to_string(), message));
        }
        let started = Instant::now();
        self.state.swap_average(self.backbone)?;
        // Whoever mines takes a fingerprint of them.
        self.state.bring_home(self.backbone)?;
        let mined = mine(self.backbone, self.step, progress);
        self.state.swap_average(self.backbone)?;
        let Some(mined) = Stop::or_nothing(mined)? else { return Ok(false) };
        self.negatives = Some((due, self.checkpoints.write_negatives(due, &mined)?));
        table.set_negatives(mined, most)?;
        self.clock.mining = seconds_since(started);
        Ok(true)
    }

    /// Measures the weights as they are, or their average, on the held-out pairs, where it is time to and was not done,
    /// and writes a checkpoint. False where `stop` broke it off; it is done again after a resume.
    pub fn validate_if_due(&mut self, every: u64, progress: &mut dyn FnMut(Progress)) -> Result<bool> {
        let Course { held_out, loss, total, .. } = self.course;
        let due = self.step.is_multiple_of(every) || self.step == total;
        if !due || (self.saved && (self.validated == Some(self.step) || held_out.is_empty())) {
            return Ok(true);
        }
        let started = Instant::now();
        let (now, texts, stop) = (self.progress(), held_out.texts(), self.job.stop);
        let mut go_on = |embedded| {
            progress(now.clone().note(format!("validating, {embedded} of {texts} texts")));
            !stop.is_set()
        };
        if !held_out.is_empty() {
            if !go_on(0) {
                return Ok(false);
            }
            self.state.swap_average(self.backbone)?;
            let found = held_out.measure(self.backbone, self.job.meeting, loss, &mut go_on);
            self.state.swap_average(self.backbone)?;
            let Some(found) = Stop::or_nothing(found)? else { return Ok(false) };
            self.record(found)?;
        }
        self.saved = false;
        self.checkpoint()?;
        self.clock.validation = seconds_since(started);
        Ok(true)
    }

    fn record(&mut self, found: ValidationScores) -> Result<()> {
        let best = self.best.is_none_or(|(_, mrr)| found.mrr > mrr);
        if best {
            self.best = Some((self.step, found.mrr));
        }
        self.last_mrr = Some(found.mrr);
        self.validated = Some(self.step);
        let (step, pairs) = (self.step, self.course.held_out.len() as u64);
        let record =
            ValidationRecord { step, mrr: found.mrr, recall_at_1: found.recall_at_1, loss: found.loss, pairs, best };
        self.validations.append(&record)
    }

    /// Writes a checkpoint of this step, if there is none yet.
    pub fn checkpoint(&mut self) -> Result<()> {
        if self.saved {
            return Ok(());
        }
        self.metrics.sync()?;
        self.validations.sync()?;
        self.state.bring_home(self.backbone)?;
        self.checkpoints.save(Kept {
            step: self.step,
            best: self.best,
            negatives: self.negatives.as_ref(),
            loss_scale: self.state.loss_scale,
            micro_tokens: self.state.halved_micro_tokens(self.job.config),
            parameters: self.backbone.parameters(),
            optimizer: &self.state.optimizer,
            average: self.state.average.as_ref(),
        })?;
        self.saved = true;
        Ok(())
    }

    /// Writes a checkpoint where the training ends because another process is gone: the weights here are those of the last
    /// whole step. The error again, or that of the checkpoint.
    pub fn ended_by(&mut self, error: Error) -> Error {
        match is_lost_rank(&error).then(|| self.checkpoint()) {
            Some(Err(unwritten)) => unwritten,
            _ => error,
        }
    }

    /// Puts the weights that are kept into the backbone: the best or the last ones, or their average.
    pub fn keep(&mut self, keep: Keep) -> Result<()> {
        self.state.leave(self.backbone)?;
        let Some((step, _)) = self.best.filter(|_| keep == Keep::Best) else {
            return self.state.swap_average(self.backbone);
        };
        self.checkpoints.point_to_best(step)?;
        let (checkpoints, averaged) = (&self.checkpoints, self.state.average.is_some());
        let mut loaded = Ok(());
        self.backbone.update(&mut |parameters| loaded = checkpoints.load_weights(step, averaged, parameters))?;
        loaded
    }

    /// Its place in the whole, for whoever watches.
    pub fn progress(&self) -> Progress {
        let Course { stages, total, epochs, .. } = self.course;
        let stage =
            self.last.as_ref().map(|last| last.stage as usize).filter(|_| !self.job.config.curriculum.is_empty());
        let now = TrainingNow {
            step: self.last.as_ref().map(|last| StepNow {
                loss: last.loss,
                learning_rate: last.learning_rate,
                epoch: last.epoch,
            }),
            stage: stage.map(|at| StageNow { name: stages[at].name.clone(), number: at + 1, of: stages.len() }),
            epochs,
            validation: self.best.map(|(best_step, best)| ValidationNow { mrr: self.last_mrr, best, best_step }),
            pairs: self.pairs_done,
            seconds: self.clock.steps,
            seconds_besides: self.clock.besides(self.job.config, self.step, total),
        };
        Progress::new("training", self.step as usize, total as usize).training(now)
    }

    /// The end of training, as far as this session knows it.
    pub fn outcome(&self) -> TrainOutcome {
        let (best_step, best_mrr) = self.best.unwrap_or((self.step, 0.0));
        TrainOutcome {
            steps: self.step,
            stopped: false,
            best_step,
            best_mrr,
            seconds: self.clock.steps,
            pairs_per_second: self.pairs_done as f64 / self.clock.steps.max(1e-9),
            padding: self.backbone.padding().map(Padding::share),
            left_out: Vec::new(),
            short_of_negatives: 0,
            warnings: self
                .warnings
                .iter()
                .cloned()
                .chain(self.state.loss_scale.and_then(|s| s.told(self.step)))
                .collect(),
        }
    }
}

/// Refuses to write over what an earlier training left, unless it is to `resume`.
fn refuse_old_files(job: &TrainJob<'_>, checkpoints: &Checkpoints) -> Result<Vec<String>> {
    let written = job.files.metrics.metadata().is_ok_and(|file| file.len() > 0);
    if written || !checkpoints.steps()?.is_empty() {
        let place = job.files.checkpoints.display().to_string();
        return Err(Error::data(place, "an earlier training stands here").with_hint("resume it, or start a new run"));
    }
    Ok(Vec::new())
}
