//! Pairs that `wb mine-negatives` mines for where no file is named, and what it mines with: the latest run's, else the
//! quickstart's.

use std::path::{Path, PathBuf};

use crate::{config::Experiment, recipes};
use anyhow::{Context, Result};
use wb_core::{Error, run_dir};
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

const BM25: &str = "negatives.retriever=bm25";

/// The file that was named, else that of the latest run with its encoder, else the quickstart. What values or the file
/// say of the ranking stays as it is.
///
/// # Errors
///
/// If there is none of them, or the file cannot be read.
pub fn mined_for(config: Option<PathBuf>, overrides: Vec<String>, runs: &Path) -> Result<MinedFor> {
    if let Some(config) = config {
        return Ok(MinedFor { config, overrides, line: None });
    }
    if let Some(run) = run_dir::latest(runs)? {
        let config = run.config();
        let experiment = typed(&config, &overrides)?;
        let (value, by) = match named(&experiment) {
            Some(named) => (None, format!("ranked by {named}")),
            None if run.encoder().is_dir() => {
                // Quoted as JSON, which is YAML, so that no id is taken for something else.
                (Some(format!("negatives.encoder={}", serde_json::to_string(run.id())?)), "its encoder".to_owned())
            }
            None if experiment.has_pretrained() => {
                (None, "the encoder that it begins with, as it has no trained one yet".to_owned())
            }
            None => (Some(BM25.to_owned()), "ranked by bm25, as it has no trained encoder yet".to_owned()),
        };
        let line = format!("mining for {}: its config {}, {by}", run.id(), config.display());
        return Ok(with(config, overrides, value, line));
    }
    let config = PathBuf::from(recipes::QUICKSTART);
    if !config.is_file() {
        let message =
            format!("no file is named, and there is neither a run in {} nor {}", runs.display(), recipes::QUICKSTART);
        let hint = "wb mine-negatives FILE names one; after `wb run FILE` the latest run is taken; `wb init` begins a file \
                    of your own";
        return Err(Error::data("wb mine-negatives", message).with_hint(hint).into());
    }
    let experiment = typed(&config, &overrides)?;
    let (value, by) = match named(&experiment) {
        Some(named) => (None, format!("ranked by {named}")),
        None if experiment.has_pretrained() => (None, "the encoder that it begins with".to_owned()),
        None => (Some(BM25.to_owned()), "ranked by bm25, as its encoder begins from scratch".to_owned()),
    };
    let line = format!("mining for {}, as there is no run in {}: {by}", config.display(), runs.display());
    Ok(with(config, overrides, value, line))
}

fn with(config: PathBuf, mut overrides: Vec<String>, value: Option<String>, line: String) -> MinedFor {
    overrides.extend(value);
    MinedFor { config, overrides, line: Some(line) }
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
