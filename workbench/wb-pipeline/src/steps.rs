//! The steps of a training as they will be, for prepared pairs.

use std::path::Path;

use anyhow::Result;
use wb_core::{fingerprint::Fingerprint, records::journal::StageRecord};
use wb_encoder::train::{
    DataFacts, TrainConfig, TrainPairs, curriculum::most_negatives, plan::TrainPlan, table::PairTable,
};

use super::data::Stored;
use crate::config::Experiment;

/// A training as it is planned before it starts.
pub struct PlannedTraining {
    /// Training pairs.
    pub pairs: usize,
    /// Most hard negatives that a pair has.
    pub most_negatives: usize,
    /// Facts that lints ask of the pairs.
    pub facts: DataFacts,
    /// Most hard negatives that a pair has, with what will be mined.
    usable_negatives: usize,
    steps: u64,
    epochs: f64,
    stages: Vec<StageRecord>,
    notes: Vec<String>,
}

/// Plans every step, if the pairs were prepared before. Their texts are not kept in memory.
pub fn planned(experiment: &Experiment, folder: &Path, fingerprint: &Fingerprint) -> Result<Option<PlannedTraining>> {
    if !folder.join("train.parquet").is_file() {
        return Ok(None);
    }
    let stored = Stored::new(folder, fingerprint);
    let table = PairTable::for_planning(TrainPairs::Stream(&stored), u32::MAX as usize)?;
    let plan = TrainPlan::new(&table, &experiment.train, experiment.seed)?;
    Ok(Some(PlannedTraining {
        pairs: table.len(),
        most_negatives: table.most_negatives(),
        facts: DataFacts { steps: Some(plan.len()), ..DataFacts::of(&stored, most_negatives(&experiment.train))? },
        usable_negatives: experiment.mined_per_pair().unwrap_or_else(|| table.most_negatives()),
        steps: plan.len(),
        epochs: plan.steps.last().map_or(0.0, |step| step.epoch),
        stages: plan.records(&table),
        notes: plan.notes,
    }))
}

impl PlannedTraining {
    /// Each stage that is reached: its number of steps, and how many hard negatives its pairs bring.
    pub fn stages(&self) -> Vec<(u64, usize)> {
        let negatives = |stage: &StageRecord| (stage.negatives as usize).min(self.usable_negatives);
        self.stages.iter().map(|stage| (stage.last_step + 1 - stage.first_step, negatives(stage))).collect()
    }

    /// The plan in a few lines.
    pub fn lines(&self, train: &TrainConfig) -> Vec<String> {
        let a_step = train.batch.pairs * train.batch.accumulate;
        let epochs = (self.epochs * 100.0).round() / 100.0;
        let mut lines = vec![format!("train     {} steps of {a_step} pairs, {epochs} epochs", self.steps)];
        for stage in self.stages.iter().filter(|_| !train.curriculum.is_empty()) {
            let scale = stage.scale.map(|scale| format!(", temperature {:.3}", 1.0 / scale)).unwrap_or_default();
            let of = stage.datasets.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(", ");
            let negatives = stage.negatives.min(self.usable_negatives as u64);
            lines.push(format!(
                "          steps {} to {}: {}, {} pairs of {of}, {negatives} hard negatives{scale}, rate × {}",
                stage.first_step, stage.last_step, stage.name, stage.pairs, stage.learning_rate_factor
            ));
        }
        lines.extend(self.notes.iter().map(|note| format!("          {note}")));
        lines
    }
}
