//! The journals of a training as other tools read them: written anew from `metrics.jsonl` and `validation.jsonl`,
//! so that they always say what those say.

mod crc32c;
mod protobuf;
mod rows;
mod tensorboard;
mod wandb;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wb_core::Result;

use self::rows::Rows;

/// A tool that shows trainings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JournalFormat {
    /// An event file of TensorBoard.
    Tensorboard,
    /// The history of a run as JSON lines, with config and summary, as W&B has them.
    Wandb,
}

impl JournalFormat {
    /// The folder in a run's folder that belongs to this format.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Tensorboard => "tensorboard",
            Self::Wandb => "wandb",
        }
    }
}

/// Files of a training that journals are made of.
#[derive(Debug, Clone)]
pub struct Journals<'a> {
    /// One step a line.
    pub metrics: &'a Path,
    /// One validation a line.
    pub validation: &'a Path,
    /// Beginning of the run, in seconds since 1970. The journals have no clock, so that equal trainings have
    /// equal journals: all events bear this time, and the step is the axis to look at.
    pub started: f64,
    /// The experiment, for tools that keep it beside the numbers.
    pub config: &'a Map<String, Value>,
}

impl Journals<'_> {
    /// Writes the files of each format into its folder under `run`, whole or not at all. What stood there is replaced.
    pub fn write(&self, formats: &[JournalFormat], run: &Path) -> Result<()> {
        if formats.is_empty() {
            return Ok(());
        }
        let rows = Rows::read(&[("train", self.metrics), ("validation", self.validation)])?;
        for format in formats {
            let folder = run.join(format.folder());
            match format {
                JournalFormat::Tensorboard => tensorboard::write(&rows, self.started, &folder)?,
                JournalFormat::Wandb => wandb::write(&rows, self.config, &folder)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
