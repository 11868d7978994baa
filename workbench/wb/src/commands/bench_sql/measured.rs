//! What came out of a benchmark: text to print, a record to write, figures to hold against what is required.

use anyhow::{Result, bail};
use serde_json::Value as Json;

use super::Kind;
use crate::{
    commands::End,
    output::{self, table},
};

/// A piece of the text.
pub enum Block {
    /// A line, or several.
    Line(String),
    /// A table.
    Table(Vec<&'static str>, Vec<Vec<String>>),
}

/// What came out.
pub struct Measured {
    /// The benchmark.
    pub kind: Kind,
    /// What is printed.
    pub blocks: Vec<Block>,
    /// What `--json` writes.
    pub json: Json,
    /// Figures by name; `None` where nothing could be measured.
    pub metrics: Vec<(&'static str, Option<f64>)>,
}

/// Refuses requirements that the benchmark has no figure for, before anything runs.
pub fn check(requirements: &[(String, f64)], kind: Kind) -> Result<()> {
    for (metric, least) in requirements {
        if !kind.metrics().contains(&metric.as_str()) {
            let known = kind.metrics().join(", ");
            bail!("--require {metric}={least}: {} has no metric `{metric}`, but {known}", kind.name());
        }
    }
    Ok(())
}

impl Measured {
    /// Prints the text.
    pub fn print(&self) {
        for block in &self.blocks {
            match block {
                Block::Line(line) => output::line(line),
                Block::Table(header, rows) => table(header, rows),
            }
        }
    }

    /// Whether all that is required is there. A figure that could not be measured is not.
    pub fn gate(&self, requirements: &[(String, f64)]) -> Result<End> {
        let mut end = End::Done;
        for (metric, least) in requirements {
            let value = self.metrics.iter().find(|(name, _)| name == metric).and_then(|(_, value)| *value);
            if value.is_none_or(|value| value < *least) {
                let shown = value.map_or_else(|| "not measured".to_owned(), |value| format!("{value:.4}"));
                output::note(format!("refused: {} {metric} is {shown}, required {least:.4}", self.kind.name()));
                end = End::Refused;
            }
        }
        Ok(end)
    }
}
