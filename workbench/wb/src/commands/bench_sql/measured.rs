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
    /// What can be required.
    pub metrics: Vec<Figure>,
}

/// A figure over all questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// As in `--require NAME=VALUE`.
    pub name: &'static str,
    /// `None` where nothing could be measured.
    pub value: Option<f64>,
    /// How many questions have one.
    pub of: usize,
    /// How many questions have none, so that the figure is one over the others.
    pub without: usize,
}

/// The share of questions that have a verdict of execution: what else can be required of every benchmark.
pub const JUDGED: &str = "judged";

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

    /// Whether all that is required is there. A figure that could not be measured is not, and neither is one over some
    /// of the questions, unless what share has to be judged is required, too.
    pub fn gate(&self, requirements: &[(String, f64)]) -> Result<End> {
        let mut end = End::Done;
        let mut refuse = |what: String| {
            output::note(format!("refused: {} {what}", self.kind.name()));
            end = End::Refused;
        };
        let share_is_required = requirements.iter().any(|(metric, _)| metric == JUDGED);
        for (metric, least) in requirements {
            let figure = self.metrics.iter().find(|figure| figure.name == metric);
            let Some((figure, value)) = figure.and_then(|figure| Some((figure, figure.value?))) else {
                refuse(format!("{metric} is not measured, required {least:.4}"));
                continue;
            };
            if value < *least {
                refuse(format!("{metric} is {value:.4}, required {least:.4}"));
            }
            if figure.without > 0 && !share_is_required {
                let (of, without) = (figure.of, figure.without);
                let questions = of + without;
                refuse(format!(
                    "{metric} is {value:.4} over {of} of {questions} questions, and {without} have none; give them what \
                     they miss, or say what share is enough, as in --require {JUDGED}=0.9"
                ));
            }
        }
        Ok(end)
    }
}
