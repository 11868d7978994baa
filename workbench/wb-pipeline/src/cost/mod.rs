//! The cost of an experiment before it runs: memory with activations, and time by stage from a probe of this machine.

mod estimate;
mod files;
mod gpu;
mod lengths;
mod memory;
mod plan;
mod probe;
mod rate;
mod sizes;
mod told;
mod volumes;

use std::path::Path;

use anyhow::{Result, bail};
use wb_encoder::{DeviceConfig, OpenDevice};

pub use self::{
    estimate::{StageCost, TrainingWork, Work},
    sizes::assumed_pairs,
};
use self::{
    gpu::Operations,
    lengths::Lengths,
    memory::{MemoryCost, Setting},
    plan::Planning,
    probe::Rates,
    volumes::Volumes,
};
use super::{device, encoder, steps::PlannedTraining};
use crate::{
    config::{ContestantName, Experiment},
    output,
};

/// Facts about an experiment's data before its cost is reckoned.
#[derive(Clone, Copy)]
pub struct KnownData<'a> {
    /// The folder of its prepared pairs, whether they are there or not.
    pub folder: &'a Path,
    /// The steps, where the pairs are there.
    pub steps: Option<&'a PlannedTraining>,
    /// The number of pairs, where it was found out without preparing them.
    pub pairs: Option<f64>,
}

/// Memory and time that an experiment will take.
pub struct ExperimentCost {
    memory: MemoryCost,
    planning: Planning,
    rates: Option<Rates>,
    /// Reason why another device's times are told than those of the one that was asked for.
    instead: Option<String>,
    /// Reason why there are no times.
    unmeasured: String,
    streaming: bool,
    volumes: Option<Volumes>,
    /// Nothing for an encoder without layers.
    operations: Option<Operations>,
    /// True where stages are cut for several machines.
    in_shards: bool,
}

/// The cost in lines for people, which all begin with `cost`. Without a probe there are no times.
pub fn lines(
    experiment: &Experiment,
    folder: &Path,
    steps: Option<&PlannedTraining>,
    probe: bool,
) -> Result<Vec<String>> {
    Ok(told::lines(&reckon(experiment, KnownData { folder, steps, pairs: None }, probe)?))
}

/// Reckons memory, and times where this machine is to be measured, in about five seconds.
pub fn reckon(experiment: &Experiment, known: KnownData<'_>, probe: bool) -> Result<ExperimentCost> {
    let folder = encoder::made_up(experiment)?;
    let file = known.folder.join("train.parquet");
    let lengths = match known.steps {
        Some(steps) => Lengths::of_pairs(&file, steps.pairs, experiment, &folder)?,
        None => Lengths::assumed(folder.max_tokens, lengths::expansion(&folder)),
    };
    // One that is not there is told elsewhere.
    let guide = experiment.train.loss.guide();
    let guide = guide.and_then(|guide| encoder::pretrained_or_like_it(guide, experiment).ok());
    let planning = plan::planning(experiment, &known, lengths, folder.dim(), guide.as_ref())?;
    let opened = if probe { Some(open(experiment)?) } else { None };
    let is_cpu = match &opened {
        Some((device, _)) => device.is_cpu(),
        None => !experiment.device.first().needs_self_test(),
    };
    let setting = Setting {
        lengths,
        negatives: planning.work.training.as_ref().map_or(0, TrainingWork::most_negatives),
        threads: rayon::current_num_threads(),
        is_cpu,
        untrained: experiment.bench.contestants.contains(&ContestantName::Untrained),
    };
    let volumes = Volumes::of(experiment, &planning);
    let operations = Operations::of(&folder, lengths);
    let memory = memory::memory(&folder, &experiment.train, setting);
    let mut cost = ExperimentCost {
        memory,
        planning,
        rates: None,
        instead: None,
        unmeasured: "--no-probe".to_owned(),
        streaming: experiment.data()?.streaming,
        volumes,
        operations,
        in_shards: experiment.run_on.is_some(),
    };
    if let Some((device, instead)) = opened {
        cost.instead = instead;
        match probe::measure(experiment, folder, guide, &device, lengths) {
            Ok(rates) => cost.rates = Some(rates),
            // What cannot be measured cannot be trained: that has an error of its own there.
            Err(error) => cost.unmeasured = output::in_one_line(&error),
        }
    }
    Ok(cost)
}

/// The device to measure, and why it is not the one that was asked for.
fn open(experiment: &Experiment) -> Result<(OpenDevice, Option<String>)> {
    Ok(match device::to_measure(experiment) {
        Ok(device) => (device, None),
        Err(error) => (DeviceConfig::Cpu.open()?, Some(output::in_one_line(&error))),
    })
}

impl ExperimentCost {
    /// The stages with their seconds; none without a probe.
    pub fn stages(&self) -> Vec<StageCost> {
        self.rates.as_ref().map_or_else(Vec::new, |rates| self.planning.work.stages(rates))
    }

    /// The work that was reckoned.
    pub fn work(&self) -> &Work {
        &self.planning.work
    }

    /// The measured speeds in a sentence; an error where nothing was measured.
    pub fn speed(&self) -> Result<String> {
        match &self.rates {
            Some(rates) => Ok(told::speed(rates)),
            None => bail!("this machine could not be measured: {}", self.unmeasured),
        }
    }

    fn by_tokens(&self) -> bool {
        self.planning.work.by_tokens
    }

    /// Bytes of the pairs' texts in memory: four for a token.
    fn texts(&self) -> f64 {
        let pairs = self.planning.sizes.filter(|_| !self.streaming).map_or(0.0, |sizes| sizes.train);
        self.planning.work.lengths.map_or(0.0, |lengths| pairs * 4.0 * (lengths.query + lengths.document))
    }
}
