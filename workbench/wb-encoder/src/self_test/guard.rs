//! Running a self-test in a process that may hang or die, without hanging or dying with it.

use std::{
    io::Read,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::ProbeReport;
use crate::{Error, Result};

/// How often the process is looked at.
const POLL: Duration = Duration::from_millis(20);

/// Runs a command that prints a [`ProbeReport`] as JSON on the last line of its output.
///
/// A process that takes longer than `limit` is killed; one that dies or prints no report makes a report that says so.
/// An error is only that the command could not be started.
pub fn run_guarded(device: &str, mut command: Command, limit: Duration) -> Result<ProbeReport> {
    let begin = Instant::now();
    let error = |message: String| Error::Device { device: device.to_owned(), message, hint: None };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| error(format!("its self-test could not be started: {e}")))?;
    let output = collect(child.stdout.take());
    let complaints = collect(child.stderr.take());
    let ended = wait(&mut child, limit).map_err(|e| error(format!("its self-test could not be watched: {e}")))?;
    let failed = |failure: String| ProbeReport {
        device: device.to_owned(),
        description: String::new(),
        checks: Vec::new(),
        failure: Some(failure),
        seconds: begin.elapsed().as_secs_f64(),
    };
    let Some(status) = ended else {
        let seconds = limit.as_secs_f64();
        return Ok(failed(format!("it gave no result within {seconds:.0} s in its self-test, which was ended")));
    };
    let output = output.join().unwrap_or_default();
    let complaints = complaints.join().unwrap_or_default();
    let report = output.lines().rev().find_map(|line| serde_json::from_str::<ProbeReport>(line).ok());
    match report {
        // A driver may crash while it is closed, after the report was printed: it is not to be trusted either.
        Some(report) if status.success() || report.failure.is_some() => Ok(report),
        _ => {
            let last = complaints.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
            let said = if last.is_empty() { String::new() } else { format!("; it said: {}", last.trim()) };
            Ok(failed(format!("its driver ended the self-test's process ({}){said}", describe(status))))
        }
    }
}

/// Reads a pipe to its end on a thread of its own, so that a full pipe never blocks the process.
fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is what there is.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end of a process; kills it after `limit` and returns nothing.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            4 => " SIGILL",
            6 => " SIGABRT",
            7 => " SIGBUS",
            8 => " SIGFPE",
            9 => " SIGKILL",
            11 => " SIGSEGV, an invalid memory access",
            _ => "",
        };
        return format!("signal {signal}{name}");
    }
    status.code().map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run(script: &str, limit: u64) -> ProbeReport {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_guarded("vulkan", command, Duration::from_millis(limit)).unwrap()
    }

    fn good() -> String {
        let report = ProbeReport {
            device: "vulkan".into(),
            description: "a card".into(),
            checks: Vec::new(),
            failure: None,
            seconds: 0.5,
        };
        serde_json::to_string(&report).unwrap()
    }

    #[test]
    fn a_report_is_read_from_the_last_line() {
        let report = run(&format!("echo noise; echo '{}'", good()), 5000);
        assert_eq!((report.failure.as_deref(), report.description.as_str()), (None, "a card"));
        assert!(report.require().is_ok());
    }

    #[test]
    fn a_process_that_hangs_is_ended() {
        let begin = Instant::now();
        let report = run("exec sleep 30", 300);
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert!(report.failure.as_deref().unwrap().contains("gave no result within"), "{report:?}");
        let error = report.require().unwrap_err();
        assert!(error.to_string().starts_with("cannot use device `vulkan`"), "{error}");
        assert!(error.hint().unwrap().contains("device=cpu"));
    }

    #[test]
    fn a_process_that_dies_is_reported_with_what_it_said() {
        let report = run("echo 'lost device' >&2; kill -SEGV $$", 5000);
        let failure = report.failure.unwrap();
        assert!(failure.contains("SIGSEGV") && failure.contains("lost device"), "{failure}");
        let failure = run("exit 3", 5000).failure.unwrap();
        assert!(failure.contains("exit code 3"), "{failure}");
        // A crash after a good report counts.
        let failure = run(&format!("echo '{}'; kill -SEGV $$", good()), 5000).failure.unwrap();
        assert!(failure.contains("SIGSEGV"), "{failure}");
    }

    #[test]
    fn much_output_does_not_block() {
        let script = format!("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo '{}'", good());
        assert_eq!(run(&script, 20_000).failure, None);
    }
}
