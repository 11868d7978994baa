//! Starters of attempts: processes of this machine, arrays of Slurm, tasks of Ray, or pods of Kubernetes. Rounds over what is missing, until nothing is.

mod kubernetes;
mod local;
mod named;
mod ray;
mod slurm;
mod watched;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Progress};
use wb_shards::OpenPlan;

pub use self::{kubernetes::IndexedJobs, ray::RayTasks, slurm::SlurmArrays};
use super::ShardSize;

/// Rounds over what is missing, after which it is given up.
const ROUNDS: usize = 3;

/// Starter of attempts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOn {
    /// Processes of this machine.
    Local(LocalProcesses),
    /// Job arrays of Slurm, on whose login node `wb` runs.
    Slurm(SlurmArrays),
    /// Tasks of a Ray cluster.
    Ray(RayTasks),
    /// Pods of Kubernetes.
    Kubernetes(IndexedJobs),
}

/// A starter on a command line, as a YAML has it.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Typed {
    run_on: Option<RunOn>,
}

/// Processes of this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LocalProcesses {
    /// Processes at a time, from 1.
    pub processes: usize,
    /// Number of shards that a stage is cut into; null for shards of 262,144 rows, or fewer than a thousand.
    pub shards: Option<u64>,
}

impl Default for LocalProcesses {
    fn default() -> Self {
        Self { processes: 1, shards: None }
    }
}

impl RunOn {
    /// The starter that `run_on=...` on a command line says.
    ///
    /// # Errors
    ///
    /// If there is none, something else is said, or a value does not fit.
    pub fn of_overrides(overrides: &[String]) -> Result<Self, Error> {
        let Typed { run_on } = wb_core::config::of_overrides(overrides)?;
        let run_on = run_on.ok_or_else(|| {
            Error::value("run_on", "is missing, expected local, slurm, ray or kubernetes").with_hint("run_on=slurm")
        })?;
        run_on.validate("run_on").map(|()| run_on)
    }

    /// Refuses numbers that nothing comes of; `key` is the config path.
    pub fn validate(&self, key: &str) -> Result<(), Error> {
        let (name, numbers) = match self {
            Self::Local(local) => {
                ("local", vec![("processes", Some(local.processes as u64)), ("shards", local.shards)])
            }
            Self::Slurm(slurm) => ("slurm", vec![("at_once", slurm.at_once.map(u64::from)), ("shards", slurm.shards)]),
            Self::Ray(ray) => ("ray", vec![("shards", ray.shards)]),
            Self::Kubernetes(jobs) => {
                jobs.validate(&format!("{key}.kubernetes"))?;
                ("kubernetes", vec![("at_once", jobs.at_once.map(u64::from)), ("shards", jobs.shards)])
            }
        };
        if let Self::Ray(RayTasks { cpus, gpus, .. }) = self {
            let amounts = [("cpus", *cpus), ("gpus", *gpus)];
            if let Some((what, amount)) = amounts.iter().find(|(_, amount)| !amount.is_finite() || *amount < 0.0) {
                let message = format!("got {amount}, expected 0 or more");
                return Err(Error::value(format!("{key}.ray.{what}"), message));
            }
        }
        match numbers.iter().find(|(_, number)| *number == Some(0)) {
            Some((what, _)) => Err(Error::value(format!("{key}.{name}.{what}"), "got 0, expected 1 or more")),
            None => Ok(()),
        }
    }

    /// Size of the shards that a stage is cut into.
    pub fn size(&self) -> ShardSize {
        let (Self::Local(LocalProcesses { shards, .. })
        | Self::Slurm(SlurmArrays { shards, .. })
        | Self::Ray(RayTasks { shards, .. })
        | Self::Kubernetes(IndexedJobs { shards, .. })) = self;
        shards.map_or(ShardSize::Usual, ShardSize::Shards)
    }

    /// Has attempts at all that is missing made, until nothing is, at most three times each.
    ///
    /// # Errors
    ///
    /// If an attempt says that no other one will do better, or a shard is missing in the end.
    pub fn run(&self, plan: &OpenPlan, scratch: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let all = plan.plan().shards() as usize;
        let mut tell = |note: &str| -> Result<()> {
            progress(Progress::new("shards", all - plan.missing()?.len(), all).note(note));
            Ok(())
        };
        plan.forget_failures()?;
        for _ in 0..ROUNDS {
            let missing = plan.missing()?;
            if missing.is_empty() {
                break;
            }
            tell("")?;
            match self {
                Self::Local(local) => local::work(plan, missing, local.processes, scratch, &mut tell)?,
                Self::Ray(tasks) => tasks.work(plan, scratch, &mut tell)?,
                Self::Slurm(arrays) => arrays.work(plan, &missing, scratch, &mut tell)?,
                Self::Kubernetes(jobs) => jobs.work(plan, &mut tell)?,
            }
            if let Some(failed) = plan.failures()?.into_iter().next() {
                return Err(failed.into_error().into());
            }
        }
        let missing = plan.missing()?;
        let Some(first) = missing.first() else { return Ok(()) };
        let what = format!("{} shards failed {ROUNDS} times, {first} the first of them", missing.len());
        let hint = format!("wb shards run {} --shard {first}", plan.place());
        Err(Error::failed(what).with_hint(hint).into())
    }
}

/// The program on the nodes: the one that is named, else this one, at its place here.
fn program(named: Option<&Path>) -> Result<PathBuf> {
    let here = || std::env::current_exe().context("cannot find this program");
    named.map_or_else(here, |program| Ok(program.to_owned()))
}
