//! The steps of a training as they will be, for prepared pairs.

use std::path::Path;

use anyhow::Result;
use wb_core::records::journal::StageRecord;
use wb_encoder::train::{DataFacts, TrainConfig, curriculum::most_negatives, plan::Plan, table::PairTable};

use crate::config::Experiment;

/// What is known of a training before it starts.
pub struct Planned {
    /// Training pairs.
    pub pairs: usize,
    /// Most hard negatives that a pair has.
    pub most_negatives: usize,
    /// What lints ask of the pairs.
    pub facts: DataFacts,
    steps: u64,
    epochs: f64,
    stages: Vec<StageRecord>,
    notes: Vec<String>,
}

/// Plans every step, if the pairs were prepared before.
pub fn planned(experiment: &Experiment, folder: &Path) -> Result<Option<Planned>> {
    let file = folder.join("train.parquet");
    if !file.is_file() {
        return Ok(None);
    }
    let pairs = wb_data::store::read_pairs(&file)?;
    let table = PairTable::in_memory(&pairs, most_negatives(&experiment.train));
    let plan = Plan::new(&table, &experiment.train, experiment.seed)?;
    Ok(Some(Planned {
        pairs: pairs.len(),
        most_negatives: pairs.iter().map(|pair| pair.negatives.len()).max().unwrap_or(0),
        facts: DataFacts::of(&pairs, most_negatives(&experiment.train)),
        steps: plan.len(),
        epochs: plan.steps.last().map_or(0.0, |step| step.epoch),
        stages: plan.records(&table),
        notes: plan.notes,
    }))
}

impl Planned {
    /// In a few lines.
    pub fn lines(&self, train: &TrainConfig) -> Vec<String> {
        let a_step = train.batch.pairs * train.batch.accumulate;
        let epochs = (self.epochs * 100.0).round() / 100.0;
        let mut lines = vec![format!("train     {} steps of {a_step} pairs, {epochs} epochs", self.steps)];
        for stage in self.stages.iter().filter(|_| !train.curriculum.is_empty()) {
            let scale = stage.scale.map(|scale| format!(", temperature {:.3}", 1.0 / scale)).unwrap_or_default();
            let of = stage.datasets.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(", ");
            lines.push(format!(
                "          steps {} to {}: {}, {} pairs of {of}, up to {} hard negatives{scale}, rate × {}",
                stage.first_step, stage.last_step, stage.name, stage.pairs, stage.negatives, stage.learning_rate_factor
            ));
        }
        lines.extend(self.notes.iter().map(|note| format!("          {note}")));
        lines
    }
}
