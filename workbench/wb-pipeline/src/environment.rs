//! Processes of this program: workers, and the same command begun again with the environment that a language model inside
//! of it needs, which candle reads once, when the process begins.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use wb_llm::{LlmConfig, engines};
use wb_sql::execute::{StatementLimits, WorkerCommand, WorkerPool};

/// The program that runs, to start it as a child; on Linux even where another stands under its name by now.
pub fn this_program() -> Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    match running.exists() {
        true => Ok(running.to_owned()),
        false => std::env::current_exe().context("cannot find this program"),
    }
}

/// Workers that run statements, each for so many seconds at most: this program with that command, one for each core unless
/// their number is given.
pub fn sql_workers(command: &str, timeout: f64, workers: Option<u16>) -> Result<WorkerPool> {
    let program = this_program().context("cannot start a worker")?;
    let command = WorkerCommand { program, arguments: vec![command.into()] };
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let limits = StatementLimits { timeout: Duration::from_secs_f64(timeout), ..StatementLimits::default() };
    Ok(WorkerPool::new(command, limits, workers.map_or_else(cores, usize::from)))
}

/// Begins this command again with what is missing in its environment. Where nothing is missing, nothing happens.
pub fn complete(llm: Option<&LlmConfig>) -> Result<()> {
    let missing = llm.map(engines::environment).unwrap_or_default();
    if missing.is_empty() {
        return Ok(());
    }
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).envs(missing);
    again(command)
}

/// Begins again. On Unix the new process takes this one's place: signals, terminal and exit code are its own.
#[cfg(unix)]
fn again(mut command: Command) -> Result<()> {
    use std::os::unix::process::CommandExt;
    Err(command.exec()).context("cannot begin again with another environment")
}

#[cfg(not(unix))]
fn again(mut command: Command) -> Result<()> {
    let status = command.status().context("cannot begin again with another environment")?;
    std::process::exit(status.code().unwrap_or(2));
}
