//! The pairs of a run: those held out, which `wb bench pairs` measures on, and those trained on, which leak.

use std::path::{Path, PathBuf};

use crate::data;
use anyhow::{Context, Result, bail};
use wb_bench::TrainingTexts;
use wb_core::{PairSet, RunDir, run_dir::read_json};

/// The test pairs of a run.
///
/// # Errors
///
/// If the pairs that it was trained on are no longer there.
pub fn of_run(run: &RunDir, datasets: &Path) -> Result<PairSet> {
    let folder = folder(run, datasets)?;
    data::card(&folder)?;
    Ok(wb_data::store::load(&folder)?.test)
}

/// The texts that a run was trained on, read a few at a time: they may be larger than memory.
///
/// # Errors
///
/// If the pairs are no longer there, or cannot be read.
pub fn trained_on(run: &RunDir, datasets: &Path) -> Result<TrainingTexts> {
    let mut texts = TrainingTexts::default();
    wb_data::store::each_pair(&folder(run, datasets)?.join("train.parquet"), &mut |pair| {
        texts.add(&pair);
        Ok(())
    })?;
    Ok(texts)
}

/// The folder of prepared pairs that a run was trained on.
///
/// # Errors
///
/// If it is no longer there.
pub fn folder(run: &RunDir, datasets: &Path) -> Result<PathBuf> {
    let manifest: wb_core::manifest::Manifest = read_json(&run.manifest())?;
    let of_data = manifest.fingerprints.get("data").context("the run's manifest names no data")?;
    let short = of_data.get(..12).unwrap_or(of_data);
    let folders = std::fs::read_dir(datasets).with_context(|| format!("cannot read {}", datasets.display()))?;
    let found = folders.flatten().map(|entry| entry.path());
    match found.into_iter().find(|folder| folder.to_string_lossy().ends_with(&format!("-{short}"))) {
        Some(folder) => Ok(folder),
        None => bail!("the pairs of {} are no longer under {}", run.id(), datasets.display()),
    }
}
