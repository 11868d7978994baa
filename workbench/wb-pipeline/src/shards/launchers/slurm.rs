//! Attempts as tasks of Slurm's job arrays.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Error;
use wb_shards::OpenPlan;

use super::{program, watched::until_ended};
use crate::{manifest::quoted, output, shards::ranges};

/// Job arrays of one task a shard.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmArrays {
    /// Tasks of an array at a time; null for as many as Slurm has room for.
    pub at_once: Option<u32>,
    /// Options of `sbatch`, such as `--partition=gpu`.
    pub options: Vec<String>,
    /// The program on the nodes; null for this one, at its place here.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub program: Option<PathBuf>,
    /// Number of shards that a stage is cut into; null for shards of 262,144 rows, or fewer than a thousand.
    pub shards: Option<u64>,
}

impl SlurmArrays {
    /// Submits a task for each shard, and waits until all have ended, whatever their end.
    pub(super) fn work(
        &self,
        plan: &OpenPlan,
        shards: &[u32],
        scratch: &Path,
        tell: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let mut jobs = Vec::new();
        for (offset, indexes) in arrays(shards, longest()?) {
            jobs.push(self.submit(plan, offset, &indexes, scratch)?);
        }
        output::note(format!("submitted as job {} of Slurm", jobs.join(", ")));
        until_ended(&|| is_queued(&jobs), &mut || tell(&format!("job {}", jobs.join(", "))))
    }

    fn submit(&self, plan: &OpenPlan, offset: u32, indexes: &[u32], scratch: &Path) -> Result<String> {
        let program = program(self.program.as_deref())?;
        let words = [program.display().to_string(), "shards".into(), "run".into(), plan.place(), "--scratch".into()];
        let words = words.into_iter().chain([scratch.display().to_string()]).map(quoted);
        let command = format!("exec {}", words.collect::<Vec<_>>().join(" "));
        let at_once = self.at_once.map(|tasks| format!("%{tasks}")).unwrap_or_default();
        let mut sbatch = Command::new("sbatch");
        sbatch.args(["--parsable", "--requeue", "--open-mode=append"]);
        sbatch.arg(format!("--job-name=wb-{}", plan.plan().stage));
        sbatch.arg(format!("--array={}{at_once}", ranges(indexes)));
        sbatch.arg(format!("--export=ALL,WB_SHARD_OFFSET={offset}"));
        sbatch.args(&self.options).arg(format!("--wrap={command}"));
        let output = asked(&mut sbatch)?;
        // `ID` or `ID;CLUSTER`.
        let id = output.trim().split(';').next().unwrap_or_default();
        Ok(id.to_owned())
    }
}

/// Arrays for shards: what is added to the index of a task, and the indexes, which have an end.
fn arrays(shards: &[u32], longest: u32) -> BTreeMap<u32, Vec<u32>> {
    let mut arrays: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for shard in shards {
        let offset = shard / longest * longest;
        arrays.entry(offset).or_default().push(shard - offset);
    }
    arrays
}

/// The number of indexes that an array may have.
fn longest() -> Result<u32> {
    let config = asked(Command::new("scontrol").args(["show", "config"]))?;
    let value =
        config.lines().find_map(|line| line.strip_prefix("MaxArraySize")?.split('=').nth(1)?.trim().parse().ok());
    // Slurm's own default, where it says none.
    Ok(value.unwrap_or(1001).max(1))
}

/// True while a task of the jobs waits or runs.
fn is_queued(jobs: &[String]) -> Result<bool> {
    let mut squeue = Command::new("squeue");
    squeue.args(["--noheader", "--format=%i", &format!("--jobs={}", jobs.join(","))]);
    match asked(&mut squeue) {
        Ok(queued) => Ok(!queued.trim().is_empty()),
        // Slurm forgets jobs a while after their end.
        Err(error) if format!("{error:#}").contains("Invalid job id") => Ok(false),
        Err(error) => Err(error),
    }
}

/// Output of a command of Slurm.
fn asked(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let Output { status, stdout, stderr } = command.output().map_err(|error| {
        Error::failed(format!("cannot start {name}"))
            .with_cause(error)
            .with_hint("Slurm's commands are on its login nodes")
    })?;
    if !status.success() {
        let words = String::from_utf8_lossy(&stderr).trim().to_owned();
        return Err(Error::failed(format!("{name} refused: {words}")).into());
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_an_end_and_further_ones_an_offset() {
        let found = arrays(&[0, 1, 4, 5, 9, 10, 23], 5);
        let wanted = [(0, vec![0, 1, 4]), (5, vec![0, 4]), (10, vec![0]), (20, vec![3])];
        assert_eq!(found, BTreeMap::from(wanted));
        assert_eq!(arrays(&[999, 1000, 1001], 1001), BTreeMap::from([(0, vec![999, 1000]), (1001, vec![0])]));
    }
}
