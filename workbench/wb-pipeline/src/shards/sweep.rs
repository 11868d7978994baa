//! Runs of a sweep, shard by shard: what `wb run` does of one after the other, on as many machines as there are.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wb_core::{Error, Progress, RunDir, publish};
use wb_shards::{AttemptEnd, MergedRecord, OpenPlan, ShardManifest, ShardOutput, ShardPlan, Store};

use super::{
    ShardSize, ShardStage,
    on::{store, work_at},
    scratch, this_build,
};
use crate::{
    config::Experiment,
    distributed::Ranks,
    experiment::{Ended, Job},
    interrupt::Interrupt,
    session::Folders,
    sweep::SweptRun,
};

/// The file that a run has in the end.
const DONE: &str = "DONE";
/// Parts of a run that it does not need in the end.
const LEFT_OUT: [&str; 2] = ["checkpoints", "lock"];

/// Runs of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct SweepPlan<'a> {
    /// The runs.
    pub runs: &'a [SweptRun],
    /// Their file, for hints.
    pub file: &'a Path,
    /// True where benchmarks follow the training.
    pub measured: bool,
    /// Size of shards.
    pub size: ShardSize,
}

/// Settings of the plan.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepShards {
    /// The folder that paths in the experiments begin at, on every machine.
    folder: PathBuf,
    /// The file, for hints.
    file: PathBuf,
    /// True where benchmarks follow the training.
    measured: bool,
    /// The runs' experiments.
    experiments: Vec<Experiment>,
}

/// Account of a shard.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SweptShard {
    /// Ids of its runs.
    runs: Vec<String>,
}

impl SweepPlan<'_> {
    /// Puts the plan into a place.
    pub fn write(&self, work: &Store) -> Result<OpenPlan> {
        // A run is made by one machine, on which nothing is cut any more.
        let alone = |run: &SweptRun| Experiment { run_on: None, work: None, ..run.experiment.clone() };
        let task = SweepShards {
            folder: std::env::current_dir().map_err(Error::io("read", "."))?,
            file: self.file.to_owned(),
            measured: self.measured,
            experiments: self.runs.iter().map(alone).collect(),
        };
        let rows = self.runs.len() as u64;
        let plan = ShardPlan {
            stage: ShardStage::Sweep.as_str().to_owned(),
            build: this_build(&task.experiments.first().map_or_else(String::new, |first| first.device.to_string())),
            rows,
            rows_per_shard: match self.size {
                ShardSize::Usual => 1,
                size => size.rows(rows, 1),
            },
            inputs: std::collections::BTreeMap::new(),
            task: json!(task),
        };
        Ok(OpenPlan::write(work, plan)?)
    }
}

/// Makes the runs of a shard. They grow below `scratch`, where a further attempt on the same machine goes on with them.
pub(super) fn run(
    plan: &OpenPlan,
    shard: u32,
    scratch: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd> {
    let task: SweepShards = plan.plan().typed_task()?;
    fs::create_dir_all(scratch).map_err(Error::io("create", scratch))?;
    let scratch = fs::canonicalize(scratch).map_err(Error::io("read", scratch))?;
    std::env::set_current_dir(&task.folder).map_err(|error| {
        let hint = "the folder in which a sweep is planned has to be at the same place on every machine";
        Error::failed(format!("cannot work in {}", task.folder.display())).with_cause(error).with_hint(hint)
    })?;
    let grown = scratch.join("sweeps").join(plan.plan().id());
    let folders = Folders { runs: &grown.join("runs"), datasets: &scratch.join("datasets") };
    let end = plan.attempt(shard, &scratch, progress, |rows, _, progress| {
        let (mut files, mut runs) = (Vec::new(), Vec::new());
        for experiment in &task.experiments[rows.start as usize..rows.end as usize] {
            let job = Job::new(experiment, &task.file, folders, None, task.measured, &Ranks::default())?;
            let run = match job.run(interrupt, progress)? {
                Ended::Measured { run, .. } | Ended::Trained(run) => run,
                Ended::Stopped(_) => return Err(anyhow::Error::from(Error::Stopped)),
            };
            add_files(run.dir.folder(), Path::new(run.dir.id()), &mut files)?;
            runs.push(run.dir.id().to_owned());
        }
        Ok(ShardOutput { files, account: json!(SweptShard { runs }) })
    })?;
    for run in manifest_of(&end).typed_account::<SweptShard>()?.runs {
        // One that stays is only in the way.
        let _ = fs::remove_dir_all(folders.runs.join(run));
    }
    Ok(end)
}

fn manifest_of(end: &AttemptEnd) -> &ShardManifest {
    let (AttemptEnd::Committed(manifest) | AttemptEnd::There(manifest) | AttemptEnd::Lost(manifest)) = end;
    manifest
}

/// Adds the files of a folder by their names in it, in order.
fn add_files(folder: &Path, name: &Path, files: &mut Vec<(String, PathBuf)>) -> Result<()> {
    let mut inside: Vec<_> = fs::read_dir(folder).map_err(Error::io("read", folder))?.flatten().collect();
    inside.sort_by_key(fs::DirEntry::file_name);
    for entry in inside {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let is_left_out = LEFT_OUT.iter().any(|part| entry.file_name() == *part);
        match path.is_dir() {
            _ if is_left_out => {}
            true => add_files(&path, &name, files)?,
            false => files.push((name.display().to_string(), path)),
        }
    }
    Ok(())
}

/// Puts the runs into a folder of runs, each whole; those that are there stay.
pub(super) fn merge(plan: &OpenPlan, out: Option<&Path>, progress: &mut dyn FnMut(Progress)) -> Result<MergedRecord> {
    let manifests = plan.all_manifests()?;
    let (mut files, mut last) = (Vec::new(), None);
    for manifest in &manifests {
        progress(Progress::new("merging", manifest.shard as usize, manifests.len()));
        for id in manifest.typed_account::<SweptShard>()?.runs {
            let of_run = || {
                manifest
                    .files
                    .iter()
                    .filter_map(|file| Some((file, file.name.strip_prefix(&format!("{id}/"))?.to_owned())))
            };
            files.extend(of_run().map(|(file, _)| (file.name.clone(), file.bytes, file.blake3.clone())));
            let Some(out) = out else { continue };
            publish::folder(&out.join(&id), DONE, |inside| -> Result<()> {
                for (file, name) in of_run() {
                    let path = inside.join(&name);
                    let above = path.parent().unwrap_or(inside);
                    fs::create_dir_all(above).map_err(Error::io("create", above))?;
                    plan.fetch(manifest, &file.name, &path)?;
                }
                Ok(())
            })?;
            last = Some(RunDir::open(out, &id)?);
        }
    }
    last.map_or(Ok(()), |run| run.point_latest())?;
    Ok(plan.finish(&manifests, files)?)
}

/// Ids of the runs of a plan whose shards are all done, in order.
fn ids(plan: &OpenPlan) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for manifest in plan.all_manifests()? {
        ids.extend(manifest.typed_account::<SweptShard>()?.runs);
    }
    Ok(ids)
}

/// Makes the runs of a sweep on the machines of `run_on`, and puts them into a folder of runs; their ids.
///
/// # Errors
///
/// If a run fails, or the place of `work` cannot be used.
pub fn swept(
    all: &[SweptRun],
    (file, measured): (&Path, bool),
    runs: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<String>> {
    let first = &all.first().context("a sweep without runs")?.experiment;
    let run_on = first.run_on.as_ref().context("`run_on` is not there")?;
    let planned = SweepPlan { runs: all, file, measured, size: run_on.size() }.write(&store(first)?)?;
    let done = work_at(planned, run_on, &scratch(None)?, progress)?;
    merge(&done, Some(runs), progress)?;
    ids(&done)
}
