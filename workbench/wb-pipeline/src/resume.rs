//! Going on with a run that was begun: only with what it was begun with, and never with another one unnoticed.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use serde_json::Value;
use wb_core::{
    Error, RunDir,
    manifest::Manifest,
    remote,
    run_dir::{list, read_json},
};
use wb_encoder::{Devices, train::checkpoint};

use super::{
    data, device,
    inputs::{RunInputs, of_sources},
    manifest::{build, source, this_build},
    stages::Stages,
};
use crate::config::Experiment;

/// The sections of a YAML that decide the weights. The device does, too, as it was found: `auto` may be any.
const DECIDE: [&str; 6] = ["name", "seed", "data", "negatives", "encoder", "train"];
/// Differences that a note lists.
const LISTED: usize = 4;

/// The run that a person named to go on with. Refused, with what differs, where the YAML, the sources of pairs or the
/// build are not those that it was begun with. What is made of these is compared by [`check`].
pub fn named(experiment: &Experiment, runs: &Path, name: &str) -> Result<RunDir> {
    let run = RunDir::open(runs, name)?;
    remote::bring(run.folder())?;
    if !run.config().is_file() {
        let place = run.folder().display().to_string();
        let message = "is no run of `wb train` or `wb run` that can be gone on with: it has no config.yaml";
        return Err(Error::data(place, message).with_hint("`wb ls` shows what there is").into());
    }
    // Before sources are read, which may take long.
    refuse(&run, differences(&run, experiment, &BTreeMap::new())?)?;
    refuse(&run, differences(&run, experiment, &of_sources(&data::sources(experiment)?))?)?;
    Ok(run)
}

/// Refuses what [`named`] does, with all inputs, once they are known.
pub fn check(run: &RunDir, experiment: &Experiment, inputs: &RunInputs) -> Result<()> {
    refuse(run, differences(run, experiment, &inputs.parts)?)
}

/// Refuses to go on with a run that another build began: from one commit to the next a step may give other bytes.
pub fn same_build(run: &RunDir) -> Result<()> {
    if !run.manifest().is_file() || checkpoint_of(run).is_none() || Stages::open(run)?.has("train") {
        return Ok(());
    }
    let Some(changed) = other_build(&read_json(&run.manifest())?) else { return Ok(()) };
    let message = format!("cannot be gone on with, because it was begun by another build ({changed})");
    Err(Error::data(run.folder().display().to_string(), message)
        .with_hint("go on with that build, or begin a new run under another name: name=...")
        .into())
}

/// A sentence about a run of the same name that was left unfinished and is not the one that is begun now.
pub fn other_unfinished(experiment: &Experiment, runs: &Path, inputs: &RunInputs) -> Result<Option<String>> {
    let is_of_name = |run: &RunDir| {
        // The date, the name, eight digits of the fingerprint.
        let middle = run.id().get(10..).and_then(|rest| rest.get(..rest.len().saturating_sub(8)));
        middle == Some(format!("-{}-", experiment.name).as_str())
    };
    let mut found: Option<(Manifest, RunDir, u64)> = None;
    for run in list(runs)?.into_iter().filter(is_of_name) {
        let Some(step) = checkpoint_of(&run) else { continue };
        // One that another process works on is not left.
        if Stages::open(&run)?.has("train") || !run.config().is_file() || run.lock().is_err() {
            continue;
        }
        let manifest: Manifest = read_json(&run.manifest())?;
        if found.as_ref().is_none_or(|(before, ..)| before.started < manifest.started) {
            found = Some((manifest, run, step));
        }
    }
    let Some((manifest, run, step)) = found else { return Ok(None) };
    let told = match differences(&run, experiment, &inputs.parts) {
        Ok(differences) if differences.is_empty() => "in what its pairs and negatives were made of".to_owned(),
        Ok(mut differences) => {
            let more = differences.len().saturating_sub(LISTED);
            differences.truncate(LISTED);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            format!("{}{more}", differences.join("; "))
        }
        Err(_) => "its config.yaml cannot be read by this build".to_owned(),
    };
    let how = match other_build(&manifest) {
        None => format!("to go on with that one: wb train {} --resume {}", run.config().display(), run.id()),
        Some(_) => "that one goes on with the build that began it".to_owned(),
    };
    Ok(Some(format!(
        "note: a new run begins; the run {} of the same name was left unfinished at step {step} and differs: {told}\n\
         \x20 {how}",
        run.id(),
    )))
}

/// Differences from what the run began with: keys of the YAML, files outside of it, the build.
fn differences(run: &RunDir, experiment: &Experiment, parts: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let before = Experiment::load("wb train", &run.config(), &[])
        .with_context(|| format!("cannot read the config of the run {}", run.id()))?;
    let mut found = checkpoint::differences("", &deciding(&before), &deciding(experiment));
    let manifest: Manifest = read_json(&run.manifest())?;
    for (name, now) in parts {
        // Where the YAML itself says something else there, that is told already.
        let section = name.split(['.', '[']).next().unwrap_or_default();
        let is_told = found.iter().any(|told| told.starts_with(section));
        if manifest.fingerprints.get(name).is_some_and(|before| before != now) && !is_told {
            found.push(format!("{name}: other content than when it began"));
        }
    }
    found.extend(other_device(&manifest, &device::all_resolved(&experiment.device)?));
    // Weights that are trained stay as they are, whatever measures them.
    if !Stages::open(run)?.has("train") {
        found.extend(other_build(&manifest));
    }
    Ok(found)
}

fn deciding(experiment: &Experiment) -> Value {
    let experiment = Experiment { train: experiment.train.as_begun(), ..experiment.clone() };
    let mut all = serde_json::to_value(experiment).unwrap_or_default();
    if let Value::Object(sections) = &mut all {
        sections.retain(|name, _| DECIDE.contains(&name.as_str()));
    }
    all
}

/// Both devices, where they are two. The manifest describes its own as `cpu (2 threads)`.
fn other_device(manifest: &Manifest, now: &Devices) -> Option<String> {
    let names = manifest.device.split(" + ").map(|device| device.split(" (").next().unwrap_or_default());
    let before = names.collect::<Vec<_>>().join(" + ");
    (before != now.to_string()).then(|| format!("device: {before}, now {now}"))
}

/// Both builds, where they are two.
pub fn other_build(manifest: &Manifest) -> Option<String> {
    let (before, now) = (build(&manifest.version, &manifest.commit), this_build());
    let is_same = if manifest.source.is_empty() { before == now } else { manifest.source == source() };
    (!is_same).then(|| format!("code: {before}, now {now}"))
}

fn refuse(run: &RunDir, differences: Vec<String>) -> Result<()> {
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!("cannot be gone on with, because this changed since it began: {}", differences.join("; "));
    let hint = format!(
        "restore what changed (its config is {}), or begin a new run: the same without --resume",
        run.config().display()
    );
    Err(Error::data(run.folder().display().to_string(), message).with_hint(hint).into())
}

/// The step of its newest checkpoint.
fn checkpoint_of(run: &RunDir) -> Option<u64> {
    let entries = fs::read_dir(run.checkpoints()).ok()?.flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("step-")?.parse().ok()).max()
}
