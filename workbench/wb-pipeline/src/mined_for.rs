//! Pairs that `wb mine-negatives` mines for where no file is named, and what it mines with: the latest run's, else the
//! quickstart's.

use std::path::{Path, PathBuf};

use crate::{config::Experiment, recipes};
use anyhow::{Context, Result};
use wb_core::{Error, RunDir, run_dir};
use wb_retrieval::mining::MiningRetriever;

/// A file, values to set in it, and a sentence that says so where nobody named it.
pub struct MinedFor {
    /// The file.
    pub config: PathBuf,
    /// Values, as key.path=value.
    pub overrides: Vec<String>,
    /// The first line of the results.
    pub line: Option<String>,
}

/// The file that was named, else that of the latest run with its encoder, else the quickstart. What values or the file
/// say of the ranking stays as it is.
///
/// # Errors
///
/// If there is none of them, or the file cannot be read.
pub fn mined_for(config: Option<PathBuf>, mut overrides: Vec<String>, runs: &Path) -> Result<MinedFor> {
    if let Some(config) = config {
        return Ok(MinedFor { config, overrides, line: None });
    }
    let run = run_dir::latest(runs)?;
    let config = run.as_ref().map_or_else(|| PathBuf::from(recipes::QUICKSTART), RunDir::config);
    if run.is_none() && !config.is_file() {
        let message =
            format!("no file is named, and there is neither a run in {} nor {}", runs.display(), recipes::QUICKSTART);
        let hint = "wb mine-negatives FILE names one; after `wb run FILE` the latest run is taken; `wb init` begins a file \
                    of your own";
        return Err(Error::data("wb mine-negatives", message).with_hint(hint).into());
    }
    let experiment = typed(&config, &overrides)?;
    let words = || Some("negatives.retriever=bm25".to_owned());
    let (value, by) = match (named(&experiment), &run) {
        (Some(named), _) => (None, format!("ranked by {named}")),
        (None, Some(run)) if run.encoder().is_dir() => {
            // Quoted as JSON, which is YAML, so that no id is taken for something else.
            (Some(format!("negatives.encoder={}", serde_json::to_string(run.id())?)), "its encoder".to_owned())
        }
        (None, Some(_)) if experiment.has_pretrained() => {
            (None, "the encoder that it begins with, as it has no trained one yet".to_owned())
        }
        (None, Some(_)) => (words(), "ranked by bm25, as it has no trained encoder yet".to_owned()),
        (None, None) if experiment.has_pretrained() => (None, "the encoder that it begins with".to_owned()),
        (None, None) => (words(), "ranked by bm25, as its encoder begins from scratch".to_owned()),
    };
    let line = match &run {
        Some(run) => format!("mining for {}: its config {}, {by}", run.id(), config.display()),
        None => format!("mining for {}, as there is no run in {}: {by}", config.display(), runs.display()),
    };
    overrides.extend(value);
    Ok(MinedFor { config, overrides, line: Some(line) })
}

/// The file as it is typed. It is checked when it is known what ranks.
fn typed(config: &Path, overrides: &[String]) -> Result<Experiment> {
    wb_core::config::load(config, overrides).with_context(|| format!("cannot load {}", config.display()))
}

/// The encoder or words that a file or its values name to rank with.
fn named(experiment: &Experiment) -> Option<String> {
    let config = experiment.negatives.clone().unwrap_or_default();
    match (config.vectors, config.retriever, config.encoder) {
        (Some(vectors), ..) => Some(format!("the vectors in {}", vectors.documents.display())),
        (None, MiningRetriever::Bm25, _) => Some("bm25".to_owned()),
        (None, MiningRetriever::Encoder, encoder) => encoder.map(|encoder| encoder.to_string()),
    }
}
