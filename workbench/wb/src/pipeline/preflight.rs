//! What an experiment needs from elsewhere, looked at before anything is computed or written.

use anyhow::{Context, Result};

use super::encoder;
use crate::config::Experiment;

/// Refuses an experiment whose pretrained encoder or benchmarks' data are not there or do not fit.
pub fn preflight(experiment: &Experiment) -> Result<()> {
    encoder::check(experiment)?;
    for (at, entry) in experiment.bench.benchmarks.iter().enumerate() {
        if let Some(folder) = entry.dataset.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(wb_core::Error::Unknown {
                kind: "folder",
                name: folder.display().to_string(),
                hint: Some("paths are relative to the folder in which wb is started".into()),
            })
            .with_context(|| format!("cannot read bench.benchmarks[{at}].dataset"));
        }
        for (number, source) in entry.sources.iter().enumerate() {
            source.fingerprint().with_context(|| format!("cannot read bench.benchmarks[{at}].sources[{number}]"))?;
        }
    }
    Ok(())
}
