//! Tests whose work is done in a process of its own: that is killed, or whose memory or launches are counted.

use std::{
    io::Write,
    process::{Command, Stdio},
};

/// A process that runs one ignored test of this program, by its name, and whose errors are seen.
pub fn own_process(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--quiet", "--nocapture"]).stdout(Stdio::null());
    command
}

/// Says that a test was skipped, past the capture of test output, so that it is seen and counted.
pub fn skipped(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}
