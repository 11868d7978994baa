//! The environment that a language model inside of this process needs: candle reads it once, when the process begins.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use wb_llm::{LlmConfig, engines};

/// The program that runs, to start it as a child; on Linux even where another stands under its name by now.
pub fn this_program() -> Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    match running.exists() {
        true => Ok(running.to_owned()),
        false => std::env::current_exe().context("cannot find this program"),
    }
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
