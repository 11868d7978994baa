//! Attempts as processes of this program on this machine.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result};
use wb_core::Error;
use wb_shards::OpenPlan;

use super::words::last_words;
use crate::{environment::this_program, shards::TRY_AGAIN};

/// Time between two looks at the processes.
const LOOK: Duration = Duration::from_millis(50);

/// Makes one attempt at each shard, so many at a time.
pub(super) fn work(
    plan: &OpenPlan,
    shards: Vec<u32>,
    processes: usize,
    scratch: &Path,
    tell: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    let mut waiting = shards.into_iter();
    let mut running = Running(Vec::new());
    loop {
        while running.0.len() < processes.max(1)
            && let Some(shard) = waiting.next()
        {
            running.0.push(start(plan, shard, scratch)?);
        }
        if running.0.is_empty() {
            return Ok(());
        }
        let ended = running.ended()?;
        if ended.is_empty() {
            thread::sleep(LOOK);
            continue;
        }
        for Attempt { shard, mut child, words } in ended {
            let status = child.wait().context("cannot wait for a process")?;
            // A thread that panicked has nothing to tell.
            let words = words.join().unwrap_or_default();
            // Killed, or worth another try: it is missing in the next round.
            if !status.success() && status.code().is_some_and(|code| code != i32::from(TRY_AGAIN)) {
                let failed = Error::failed(format!("shard {shard} cannot be done")).with_cause(words);
                return Err(failed.with_hint(format!("wb shards run {} --shard {shard}", plan.place())).into());
            }
        }
        tell("")?;
    }
}

/// A process that works at a shard, and what it says, which is read as it comes: a pipe that nobody reads would stop it.
struct Attempt {
    shard: u32,
    child: Child,
    words: JoinHandle<String>,
}

fn start(plan: &OpenPlan, shard: u32, scratch: &Path) -> Result<Attempt> {
    let mut command = Command::new(this_program()?);
    command.args(["shards", "run", &plan.place(), "--shard", &shard.to_string(), "--scratch"]).arg(scratch);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start a process for shard {shard}"))?;
    let words = last_words(child.stderr.take());
    Ok(Attempt { shard, child, words })
}

/// Processes that run; they end with this value.
struct Running(Vec<Attempt>);

impl Running {
    /// Takes those that have ended out.
    fn ended(&mut self) -> Result<Vec<Attempt>> {
        let mut ended = Vec::new();
        for at in (0..self.0.len()).rev() {
            if self.0[at].child.try_wait().context("cannot wait for a process")?.is_some() {
                ended.push(self.0.swap_remove(at));
            }
        }
        Ok(ended)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for Attempt { child, .. } in &mut self.0 {
            // What ended by itself meanwhile cannot be killed.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
