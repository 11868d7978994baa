//! Starters of attempts: processes of this machine, or arrays of Slurm. Rounds over what is missing, until nothing is.

mod local;
mod slurm;

use std::path::Path;

use anyhow::Result;
use wb_core::{Error, Progress};
use wb_shards::OpenPlan;

pub use self::slurm::SlurmArrays;

/// Rounds over what is missing, after which it is given up.
const ROUNDS: usize = 3;

/// Starter of attempts.
#[derive(Debug, Clone)]
pub enum Launcher {
    /// Processes of this machine, as many at a time.
    Local(usize),
    /// Arrays of Slurm.
    Slurm(SlurmArrays),
}

impl Launcher {
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
                Self::Local(processes) => local::work(plan, missing, *processes, scratch, &mut tell)?,
                Self::Slurm(arrays) => arrays.work(plan, &missing, scratch, &mut tell)?,
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
