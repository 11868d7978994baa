//! The pairs of a run: those held out, which `wb bench pairs` measures on, and those trained on, which leak.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wb_bench::TrainingTexts;
use wb_core::{Error, PairSet, Progress, RunDir, remote, run_dir::read_json};

use crate::{data, manifest::quoted, resume};

/// Training pairs between two reports of progress.
const REPORT_EVERY: usize = 1000;

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
pub fn trained_on(run: &RunDir, datasets: &Path, progress: &mut dyn FnMut(Progress)) -> Result<TrainingTexts> {
    let folder = folder(run, datasets)?;
    // The card tells how many they are; without one they are read all the same.
    let total = data::card(&folder)
        .ok()
        .and_then(|card| card.splits.get("train").map(|split| split.pairs as usize))
        .unwrap_or(0);
    let mut texts = TrainingTexts::default();
    let mut report = |n_pairs: usize| progress(Progress::new("reading training pairs", n_pairs, total));
    wb_data::store::each_pair(&folder.join("train.parquet"), &mut |pair| {
        if texts.n_pairs.is_multiple_of(REPORT_EVERY) {
            report(texts.n_pairs);
        }
        texts.add(&pair);
        Ok(())
    })?;
    report(texts.n_pairs);
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
    remote::bring(&datasets.join(format!("pairs-{short}")))?;
    let folders = std::fs::read_dir(datasets).with_context(|| format!("cannot read {}", datasets.display()))?;
    let found = folders.flatten().map(|entry| entry.path());
    match found.into_iter().find(|folder| folder.to_string_lossy().ends_with(&format!("-{short}"))) {
        Some(folder) => Ok(folder),
        None => {
            let what = format!("the pairs of {} are no longer under {}", run.id(), datasets.display());
            // Another build makes pairs under another name, and this command would not help.
            let hint = match resume::other_build(&manifest) {
                None => {
                    let [config, datasets] =
                        [run.config(), datasets.to_owned()].map(|path| quoted(path.display().to_string()));
                    format!("wb data {config} --datasets {datasets}")
                }
                Some(other) => format!("make them with the build that began the run ({other})"),
            };
            Err(Error::failed(what).with_hint(hint).into())
        }
    }
}
