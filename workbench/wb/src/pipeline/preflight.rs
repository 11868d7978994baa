//! What an experiment needs from elsewhere, looked at before anything is computed or written.

use anyhow::{Context, Result};

use wb_retrieval::mining::MiningConfig;

use super::encoder;
use crate::config::Experiment;

/// Refuses an experiment whose pretrained encoder or benchmarks' data are not there or do not fit.
pub fn preflight(experiment: &Experiment) -> Result<()> {
    encoder::check(experiment)?;
    if let Some(negatives) = &experiment.negatives {
        self::negatives(negatives)?;
    }
    for (at, entry) in experiment.bench.benchmarks.iter().enumerate() {
        if let Some(folder) = entry.dataset.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(wb_core::Error::Unknown {
                kind: "folder",
                name: folder.display().to_string(),
                hint: Some("paths are relative to the folder in which wb is started".into()),
            })
            .with_context(|| format!("cannot read bench.benchmarks[{at}].dataset"));
        }
    }
    Ok(())
}

/// Refuses a mining whose files are not there.
pub fn negatives(config: &MiningConfig) -> Result<()> {
    let mut files = vec![("corpus", config.corpus.as_ref()), ("rescore", config.rescore.as_ref())];
    if let Some(vectors) = &config.vectors {
        files.push(("vectors.queries", Some(&vectors.queries)));
        files.push(("vectors.query_ids", Some(&vectors.query_ids)));
        files.push(("vectors.documents", Some(&vectors.documents)));
        files.push(("vectors.document_ids", Some(&vectors.document_ids)));
    }
    for (key, file) in files {
        if let Some(file) = file.filter(|file| !file.is_file()) {
            return Err(wb_core::Error::Unknown {
                kind: "file",
                name: file.display().to_string(),
                hint: Some("paths are relative to the folder in which wb is started".into()),
            })
            .with_context(|| format!("cannot read negatives.{key}"));
        }
    }
    Ok(())
}
