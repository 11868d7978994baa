//! Tests whose work is done in a process of its own: that is killed, or whose memory or launches are counted.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use wb_encoder::OpenDevice;

/// A process that runs one ignored test of this program, by its name, and whose errors are seen.
pub fn own_process(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--quiet", "--nocapture"]).stdout(Stdio::null());
    command
}

/// Runs one ignored test in a process of its own, which has to pass.
pub fn passes_alone(test: &str) {
    let status = own_process(test).status().unwrap();
    assert!(status.success(), "{test}: {status}");
}

/// True where a device counts its memory; a test that needs that is said to be skipped elsewhere.
pub fn counts_memory(device: &OpenDevice, test: &str) -> bool {
    let counts = device.burn().memory_pool_usage().is_some();
    if !counts {
        skipped(test, &format!("{} counts no memory", device.description));
    }
    counts
}

/// Says that a test was skipped, past the capture of test output, so that it is seen and counted.
pub fn skipped(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}
