//! Inputs that decide the weights of a run, by name: for its id, for its manifest, and to say what changed since it
//! began.

use std::collections::BTreeMap;

use anyhow::Result;
use wb_core::fingerprint::Fingerprint;

use super::{data::ExperimentPairs, device, encoder, manifest::this_code};
use crate::config::Experiment;

/// Fingerprints of all that decides the weights. What is measured on them is not part of it.
pub struct RunInputs {
    /// All of it in one, which names the run.
    pub all: Fingerprint,
    /// Fingerprints of what lies outside of the YAML: `data.sources[0]`, `encoder`, `guide`, `teacher`, `negatives`.
    pub parts: BTreeMap<String, String>,
}

/// The inputs of an experiment on these pairs.
pub fn inputs(experiment: &Experiment, data: &ExperimentPairs) -> Result<RunInputs> {
    let mut parts = of_sources(&data.sources);
    let mut all = Fingerprint::builder();
    // Other code may give other bytes.
    all.text(&this_code()).text(&experiment.name).number(experiment.seed.0);
    all.text(&device::all_resolved(&experiment.device)?.to_string()).text(data.fingerprint.as_str());
    let of_encoder = encoder::fingerprint(experiment.encoder()?)?;
    all.text(of_encoder.as_str());
    parts.insert("encoder".to_owned(), of_encoder.to_string());
    all.text(Fingerprint::of_json(&experiment.train).as_str());
    if let Some(guide) = experiment.train.loss.guide() {
        let of_guide = encoder::of_reference(guide)?;
        all.text(of_guide.as_str());
        parts.insert(experiment.train.loss.guide_key().to_owned(), of_guide.to_string());
    }
    if let Some(mined) = &data.mined {
        all.text("negatives").text(mined.as_str());
        parts.insert("negatives".to_owned(), mined.to_string());
    }
    Ok(RunInputs { all: all.finish(), parts })
}

/// The sources of pairs, by their keys.
pub fn of_sources(sources: &[Fingerprint]) -> BTreeMap<String, String> {
    sources.iter().enumerate().map(|(at, source)| (format!("data.sources[{at}]"), source.to_string())).collect()
}
