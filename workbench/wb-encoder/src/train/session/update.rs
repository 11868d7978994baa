//! One step of a training, from its batches to changed weights.

use std::{collections::BTreeMap, time::Instant};

use wb_core::records::journal::StepRecord;

use super::Session;
use crate::{
    error::{Error, Result, is_out_of_memory, training_stopped},
    train::{
        clock::seconds_since,
        loss_scale::LossScale,
        micro_tokens::{MicroTokens, halved},
        objectives::BatchCode,
        optimizer::clip_factor,
        plan::PlannedStep,
        prefetch::{Batches, TrainBatch},
        step::{StepOptions, accumulate},
        table::PairTable,
        token_dropout::drop_tokens,
        unless_stopped,
    },
};

/// The losses of a step and the norm of its gradients, as the loss's scale left it.
struct Found {
    loss: f64,
    objectives: BTreeMap<String, f64>,
    norm: f64,
}

impl Session<'_> {
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
        let mut taken = Vec::new();
        let found = loop {
            match self.gradients(planned, table, batches, &mut taken) {
                Err(error) if is_out_of_memory(&error) => self.halve_parts(&taken, error)?,
                found => break found?,
            }
        };
        let scale = self.scale();
        let norm = found.norm / scale;
        let skipped = !norm.is_finite();
        if skipped && !self.state.loss_scale.as_mut().is_some_and(LossScale::overflowed) {
            return Err(self.not_a_number(step, "gradient norm", norm, planned, table));
        }
        let scheduled = config.schedule.factor(step, self.course.total);
        let learning_rate =
            config.optimizer.learning_rate() * scheduled * self.course.stages[planned.stage].rate_factor;
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
            loss: found.loss,
            objectives: found.objectives,
            learning_rate,
            grad_norm: if skipped { 0.0 } else { norm },
            loss_scale: self.state.loss_scale.map(|_| scale),
            skipped,
            micro_tokens: self.state.halved_micro_tokens(config).map(|most| most as u64),
            pairs: taken.iter().map(|batch| batch.pairs.len() as u64).sum(),
            tokens: taken.iter().map(|batch| batch.tokens.ids().len() as u64).sum(),
        };
        self.metrics.append(&record)?;
        self.step = step;
        self.saved = false;
        self.pairs_done += record.pairs;
        self.last = Some(record);
        self.clock.steps += seconds_since(started);
        Ok(())
    }

    /// Gradients of all batches of the step, those that are `taken` already and then those to come.
    fn gradients(
        &mut self,
        planned: &PlannedStep,
        table: &PairTable<'_>,
        batches: &mut Batches,
        taken: &mut Vec<TrainBatch>,
    ) -> Result<Found> {
        let (config, step) = (self.job.config, self.step + 1);
        let share = 1.0 / planned.batches.len() as f32;
        let options = StepOptions {
            dropout: config.dropout.then_some(self.job.seed),
            micro_tokens: self.state.micro_tokens,
            micro_texts: config.batch.micro_texts,
            weight: share * self.scale() as f32,
            stop: self.job.stop,
        };
        let (mut loss, mut objectives) = (0.0, BTreeMap::new());
        for part in 0..planned.batches.len() {
            // Counts batches over the whole training, so that nothing has to be stored to resume.
            let number = (step - 1) * config.batch.accumulate as u64 + part as u64;
            if part == taken.len() {
                let batch = batches.next_batch().map_err(|error| unless_stopped(self.job.stop, error))?;
                let (share, kept) = (config.token_dropout, self.job.special_tokens);
                taken.push(TrainBatch {
                    tokens: drop_tokens(batch.tokens, share, kept, self.job.seed, number),
                    ..batch
                });
            }
            let batch = &taken[part];
            let (backbone, gradients) = (&*self.backbone, &mut self.state.gradients);
            let of_stage = &self.course.losses[planned.stage];
            let found = accumulate(backbone, self.job.meeting, of_stage, batch, number, options, gradients)?;
            if !found.is_finite() {
                return Err(self.not_a_number(step, "loss", found, planned, table));
            }
            loss += found / planned.batches.len() as f64;
            let Some(of_tokens) = self.course.objectives else { continue };
            let code = BatchCode { pairs: &batch.pairs, stage: planned.stage, table, views: self.course.views };
            for found in of_tokens.accumulate(backbone, code, number, options, gradients)? {
                if !found.loss.is_finite() {
                    return Err(self.not_a_number(step, found.name, found.loss, planned, table));
                }
                *objectives.entry(found.name.to_owned()).or_insert(0.0) += found.loss * f64::from(share);
            }
        }
        // Where gradients are on a device, its memory may have run out unseen before this.
        Ok(Found { loss, objectives, norm: self.state.gradient_norm(self.backbone)? })
    }

    /// Factor of the loss in 16-bit floats, else 1.
    fn scale(&self) -> f64 {
        self.state.loss_scale.map_or(1.0, |scale| scale.factor)
    }

    /// Lets the step be done again in smaller parts after the device's memory ran out. The error, where the config wants
    /// no others or there are none.
    fn halve_parts(&mut self, taken: &[TrainBatch], error: Error) -> Result<()> {
        let step = self.step + 1;
        // The weights may be what was too much: nothing is left of them to go on with, or to keep.
        if let Some(Err(error)) = self.backbone.resident().map(|resident| resident.verify()) {
            let message = format!("the optimizer's update of step {}: {error}", self.step);
            let hint = "--resume goes on from the last checkpoint; less memory with train.batch.micro_tokens, \
                        train.gradient_checkpointing=true, train.precision=bf16, adapters (encoder.lora)";
            return Err(training_stopped(step, &message).with_hint(hint));
        }
        let auto = self.job.config.batch.micro_tokens == MicroTokens::Auto;
        let Some(most) = halved(self.state.micro_tokens, taken).filter(|_| auto) else {
            let hint = match auto {
                true => {
                    "train.gradient_checkpointing=true, train.precision=bf16, or shorter texts: a part is one text already"
                }
                false => {
                    "train.batch.micro_tokens=auto goes on in smaller parts; less memory also with train.gradient_checkpointing=true, train.precision=bf16"
                }
            };
            // What was too much was a pass: the weights are those of the last whole step.
            self.state.forget_gradients(self.backbone);
            let mut what = error.to_string();
            let kept = if step > 1 { self.checkpoint() } else { Ok(()) };
            if let Err(error) = &kept {
                what += &format!("; and the steps since the last checkpoint could not be kept: {error}");
            }
            // Only this is no other config to go on with.
            let goes_on = step > 1 && kept.is_ok() && self.job.config.batch.micro_tokens == MicroTokens::Most(0);
            let hint = match goes_on {
                true => format!("{hint}; with --resume it goes on from step {}", step - 1),
                false => hint.to_owned(),
            };
            return Err(training_stopped(step, &what).with_hint(hint));
        };
        self.state.forget_gradients(self.backbone);
        self.state.micro_tokens = most;
        self.warnings.push(format!(
            "train.batch.micro_tokens: the device's memory ran out in step {step}, and training goes on in parts of {most} \
             tokens; micro_tokens: {most} begins with them"
        ));
        Ok(())
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
