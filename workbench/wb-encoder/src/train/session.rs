//! A training under way: the backbone, its optimizer, its journals and checkpoints, and where it stands.

use std::{collections::BTreeMap, time::Instant};

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
    loss_scale::LossScale,
    made_with::made_with,
    objectives::{BatchCode, Objectives},
    optimizer::clip_factor,
    plan::PlannedStep,
    prefetch::Batches,
    state::TrainState,
    step::{StepOptions, accumulate},
    table::PairTable,
    token_dropout::drop_tokens,
    unless_stopped,
    validate::ValidationScores,
};
use crate::{
    backbone::Backbone,
    error::{Error, Result, training_stopped},
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

    /// One optimizer step over the step's batches. False where it was broken off from outside: the weights are those of
    /// the step before, and it is done again after a resume.
    pub fn update(&mut self, planned: &PlannedStep, table: &PairTable<'_>, batches: &mut Batches) -> Result<bool> {
        match self.whole_update(planned, table, batches) {
            Err(Error::Stopped) => {
                // Some of the step's gradients are in here.
                self.state.forget_gradients(self.backbone);
                Ok(false)
            }
            done => done.map(|()| true),
        }
    }

    fn whole_update(&mut self, planned: &PlannedStep, table: &PairTable<'_>, batches: &mut Batches) -> Result<()> {
        let started = Instant::now();
        let config = self.job.config;
        let step = self.step + 1;
        let (share, scale) =
            (1.0 / planned.batches.len() as f32, self.state.loss_scale.map_or(1.0, |scale| scale.factor));
        let options = StepOptions {
            dropout: config.dropout.then_some(self.job.seed),
            micro_tokens: config.batch.micro_tokens,
            micro_texts: config.batch.micro_texts,
            weight: share * scale as f32,
            stop: self.job.stop,
        };
        let stage = &self.course.stages[planned.stage];
        let (mut loss, mut pairs, mut tokens) = (0.0, 0, 0);
        let mut of_objectives = BTreeMap::new();
        for part in 0..planned.batches.len() {
            let mut batch = batches.next_batch().map_err(|error| unless_stopped(self.job.stop, error))?;
            // Counts batches over the whole training, so that nothing has to be stored to resume.
            let number = (step - 1) * config.batch.accumulate as u64 + part as u64;
            batch.tokens =
                drop_tokens(batch.tokens, config.token_dropout, self.job.special_tokens, self.job.seed, number);
            let of_stage = &self.course.losses[planned.stage];
            let (backbone, gradients) = (&*self.backbone, &mut self.state.gradients);
            let meeting = self.job.meeting;
            let found = accumulate(backbone, meeting, of_stage, &batch, number, options, gradients)?;
            if !found.is_finite() {
                return Err(self.not_a_number(step, "loss", found, planned, table));
            }
            let code = BatchCode { pairs: &batch.pairs, stage: planned.stage, table, views: self.course.views };
            let (backbone, gradients) = (&*self.backbone, &mut self.state.gradients);
            let lower = |objectives: &Objectives<'_>| objectives.accumulate(backbone, code, number, options, gradients);
            for found in self.course.objectives.map(lower).transpose()?.unwrap_or_default() {
                if !found.loss.is_finite() {
                    return Err(self.not_a_number(step, found.name, found.loss, planned, table));
                }
                let sum = of_objectives.entry(found.name.to_owned()).or_insert(0.0);
                *sum += found.loss * f64::from(share);
            }
            loss += found / planned.batches.len() as f64;
            pairs += batch.pairs.len() as u64;
            tokens += batch.tokens.ids().len() as u64;
        }
        let norm = self.state.gradient_norm(self.backbone)? / scale;
        let skipped = !norm.is_finite();
        if skipped && !self.state.loss_scale.as_mut().is_some_and(LossScale::overflowed) {
            return Err(self.not_a_number(step, "gradient norm", norm, planned, table));
        }
        let scheduled = config.schedule.factor(step, self.course.total);
        let learning_rate = config.optimizer.learning_rate() * scheduled * stage.rate_factor;
        let clip = clip_factor(norm, config.clip_norm);
        if skipped {
            self.state.forget_gradients(self.backbone);
        } else {
            self.state.update(self.backbone, learning_rate, clip / scale, step)?;
            if let Some(scale) = &mut self.state.loss_scale {
                scale.fitted();
            }
        }

        let record = StepRecord {
            step,
            epoch: planned.epoch,
            stage: planned.stage as u32,
            loss,
            objectives: of_objectives,
            learning_rate,
            grad_norm: if skipped { 0.0 } else { norm },
            loss_scale: self.state.loss_scale.map(|_| scale),
            skipped,
            pairs,
            tokens,
        };
        self.metrics.append(&record)?;
        self.step = step;
        self.saved = false;
        self.last = Some(record);
        self.pairs_done += pairs;
        self.clock.steps += seconds_since(started);
        Ok(())
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
            parameters: self.backbone.parameters(),
            optimizer: &self.state.optimizer,
            average: self.state.average.as_ref(),
        })?;
        self.saved = true;
        Ok(())
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

    fn not_a_number(&self, step: u64, what: &str, value: f64, planned: &PlannedStep, table: &PairTable<'_>) -> Error {
        let id = |pair: &u32| table.id(*pair).unwrap_or_else(|_| format!("pair {pair}"));
        let ids = |batch: &Vec<u32>| batch.iter().map(id).collect::<Vec<_>>();
        let batches: Vec<Vec<String>> = planned.batches.iter().map(ids).collect();
        let first: Vec<&str> = batches.iter().flatten().map(String::as_str).take(3).collect();
        let count = batches.iter().flatten().count();
        // The step's error is the one to tell, also where its pairs cannot be written.
        let file = self.checkpoints.write_failed_step(step, &batches);
        let listed = file.map_or_else(|error| error.to_string(), |path| format!("all ids in {}", path.display()));
        let message =
            format!("the {what} is {value}; pairs {} and {} more ({listed})", first.join(", "), count - first.len());
        let hint = match self.state.loss_scale {
            None => "a lower train.optimizer.adamw.learning_rate; the last checkpoint is as it was",
            Some(_) => "train.precision=bf16 or fp32, whose numbers go further than 65,504",
        };
        training_stopped(step, &message).with_hint(hint)
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
