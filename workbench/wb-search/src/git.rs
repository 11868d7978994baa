//! Commands of git, for what its own files do not say.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use wb_core::untrusted::clean;

/// The output of a command of git in a folder; else git's own words, in one line. Settings of the repository start no
/// programs.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"];
    let mut command = Command::new("git");
    // Of a clone that lacks objects none is fetched, and nobody is asked for a password.
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null());
    let done = command.args(quiet).args(arguments).current_dir(folder).output();
    let done = done.map_err(|error| format!("git cannot be started: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(clean(String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or_default().trim())),
    }
}
