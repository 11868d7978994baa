//! Running a self-test in a process that may hang or die, without hanging or dying with it.

use std::{
    io::Read,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::ProbeReport;
use crate::error::{Result, cannot_use};

/// Beginning of a line of the process's output that says what it does next. A process that hangs or dies is
/// reported with the last of them.
pub const DOING: &str = "doing: ";
/// Beginning of a line that says that the process gets on, and the number of kernels that it has launched.
pub(super) const LAUNCHED: &str = "launched: ";

/// Beginning of the failure of a process that did not end in time.
pub(super) const HUNG: &str = "it hung";
/// Beginning of the failure of a process that died.
pub(super) const CRASHED: &str = "it crashed";

/// Limits that a process may take which gets on all the time: kernels of a GPU are made for minutes, and nobody waits for
/// hours.
const LIMITS: u32 = 10;
/// Time between two looks at the process.
const POLL: Duration = Duration::from_millis(20);
/// Time that an ended process may take to be gone, and its pipes to be closed. A process that waits inside the
/// system's own driver cannot be ended at all, and one that it started may hold the pipes for ever.
const GRACE: Duration = Duration::from_millis(500);
/// The most that is kept of what a process prints: the end of it.
const KEPT: usize = 1 << 20;

/// Runs a command that prints a [`ProbeReport`] as JSON on the last line of its output, and before that lines that
/// begin with [`DOING`] or are an [`Alive`](super::Alive).
///
/// A process that prints nothing for longer than `limit`, or ends after ten times that, is killed; one that dies or prints
/// no report makes a report that says so. An error is only that the command could not be started.
///
/// The command's standard input is a pipe that is closed when this process ends, however it ends: a self-test that
/// hangs can notice that nobody waits for it any more ([`end_with_parent`]).
pub fn run_guarded(device: &str, mut command: Command, limit: Duration) -> Result<ProbeReport> {
    let begin = Instant::now();
    let error = |message: String| cannot_use(device, message);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| error(format!("its self-test could not be started: {e}")))?;
    let _open_until_the_end = child.stdin.take();
    let output = Pipe::read(child.stdout.take());
    let complaints = Pipe::read(child.stderr.take());
    let ended =
        wait(&mut child, limit, &output).map_err(|e| error(format!("its self-test could not be watched: {e}")))?;
    let (output, complaints) = (output.text(), complaints.text());
    let doing = output.lines().rev().find_map(|line| line.strip_prefix(DOING));
    let launched = output.lines().rev().find_map(|line| line.strip_prefix(LAUNCHED));
    let launched = launched.map(|number| format!(", {} kernels after it began", number.trim())).unwrap_or_default();
    let doing = doing.map(|text| format!(" while {}{launched}", text.trim())).unwrap_or_default();
    let failed = |failure: String| ProbeReport {
        device: device.to_owned(),
        description: String::new(),
        checks: Vec::new(),
        failure: Some(failure),
        seconds: begin.elapsed().as_secs_f64(),
    };
    let status = match ended {
        Ended::Itself(status) => status,
        Ended::Killed { after, is_gone } => {
            let seconds = after.as_secs_f64();
            let end = match is_gone {
                true => "was ended".to_owned(),
                false => format!("process {} cannot be ended", child.id()),
            };
            return Ok(failed(format!("{HUNG}{doing}: no result within {seconds:.0} s, and {end}")));
        }
    };
    let report = output.lines().rev().find_map(|line| serde_json::from_str::<ProbeReport>(line).ok());
    match report {
        // A driver may crash while it is closed, after the report was printed: it is not to be trusted either.
        Some(report) if status.success() || report.failure.is_some() => Ok(report),
        Some(_) => Ok(failed(format!("{CRASHED} while it was closed ({}){}", describe(status), said(&complaints)))),
        None => Ok(failed(format!("{CRASHED}{doing} ({}){}", describe(status), said(&complaints)))),
    }
}

/// Ends this process as soon as its standard input is closed, which is when the process that started it is gone: a
/// hung self-test does not stay behind. Works while the driver hangs, since it waits on a thread of its own.
pub fn end_with_parent() {
    thread::spawn(|| {
        let mut buffer = [0];
        while matches!(std::io::stdin().read(&mut buffer), Ok(1)) {}
        // Not `exit`, which runs what the driver left to be run at the end and may hang there.
        std::process::abort();
    });
}

/// A pipe that is read to its end on a thread of its own, so that a full pipe never blocks the process.
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Time at which something was read last.
    heard: Arc<Mutex<Instant>>,
    thread: thread::JoinHandle<()>,
}

impl Pipe {
    fn read(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::new(Mutex::new(Instant::now()));
        let (kept, now) = (Arc::clone(&bytes), Arc::clone(&heard));
        let thread = thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            let mut buffer = vec![0; 1 << 16];
            // What was read before an error is what there is.
            while let Ok(n @ 1..) = pipe.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..n]);
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
                *now.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
        });
        Self { bytes, heard, thread }
    }

    fn heard(&self) -> Instant {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The output until now, or a little later if the pipe is still open.
    fn text(self) -> String {
        let begin = Instant::now();
        while !self.thread.is_finished() && begin.elapsed() < GRACE {
            thread::sleep(POLL);
        }
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

enum Ended {
    Itself(ExitStatus),
    /// Killed when there was nothing to be heard for so long, or no end; in vain where it is not gone.
    Killed {
        after: Duration,
        is_gone: bool,
    },
}

/// Waits for the end of a process; kills it when nothing was heard of it for `limit`, or it took [`LIMITS`] times that. No
/// zombie is left.
fn wait(child: &mut Child, limit: Duration, output: &Pipe) -> std::io::Result<Ended> {
    let longest = Instant::now() + limit * LIMITS;
    let after = loop {
        let end = output.heard() + limit;
        if let Some(status) = wait_until(child, end.min(longest))? {
            return Ok(Ended::Itself(status));
        }
        if Instant::now() >= longest {
            break limit * LIMITS;
        } else if output.heard() + limit <= end {
            break limit;
        }
    };
    child.kill()?;
    let is_gone = wait_until(child, Instant::now() + GRACE)?.is_some();
    Ok(Ended::Killed { after, is_gone })
}

fn wait_until(child: &mut Child, end: Instant) -> std::io::Result<Option<ExitStatus>> {
    loop {
        let status = child.try_wait()?;
        let left = end.saturating_duration_since(Instant::now());
        if status.is_some() || left.is_zero() {
            return Ok(status);
        }
        thread::sleep(left.min(POLL));
    }
}

/// The last line that tells something, shortened.
fn said(complaints: &str) -> String {
    let tells = |line: &&str| !line.is_empty() && !line.starts_with("note: ") && !line.starts_with("stack backtrace");
    let Some(line) = complaints.lines().rev().map(str::trim).find(tells) else { return String::new() };
    let short: String = line.chars().take(300).collect();
    format!("; it said: {short}")
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            2 => " SIGINT, interrupted",
            4 => " SIGILL, an instruction that this processor lacks",
            6 => " SIGABRT, it gave up",
            7 => " SIGBUS, an invalid memory access",
            8 => " SIGFPE, an invalid operation on numbers",
            9 => " SIGKILL, as when memory runs out",
            11 => " SIGSEGV, an invalid memory access",
            15 => " SIGTERM, ended from outside",
            _ => "",
        };
        return format!("signal {signal}{name}");
    }
    status.code().map_or_else(|| "no exit code".to_owned(), |code| format!("no report, exit code {code}"))
}

#[cfg(test)]
#[cfg(unix)]
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
    fn a_process_that_hangs_is_ended_in_time_and_gone() {
        let begin = Instant::now();
        let report = run("echo $$; echo 'doing: opening the device'; echo 'doing: adding'; exec sleep 30", 1000);
        let seconds = begin.elapsed().as_secs_f64();
        assert!((1.0..2.0).contains(&seconds), "{seconds}");
        assert_eq!(report.failure.as_deref(), Some("it hung while adding: no result within 1 s, and was ended"));
        let error = report.require().unwrap_err();
        assert!(error.to_string().starts_with("cannot use device `vulkan`: it hung"), "{error}");
        assert!(error.hint().unwrap().contains("device=cpu"));
        assert!(error.hint().unwrap().contains("WB_SELF_TEST_SECONDS=300"));
    }

    #[test]
    fn a_process_that_gets_on_may_take_longer_but_not_for_ever() {
        let begin = Instant::now();
        let kernels = |seconds: u32| {
            format!("echo 'doing: adding'; for i in $(seq {seconds}0); do echo launched: $i; sleep 0.1; done")
        };
        let report = run(&format!("{}; echo '{}'", kernels(2), good()), 900);
        assert_eq!(report.failure, None);
        assert!(begin.elapsed() > Duration::from_millis(1800));
        let failure = run(&format!("{}; exec sleep 30", kernels(1)), 1000).failure.unwrap();
        assert_eq!(failure, "it hung while adding, 10 kernels after it began: no result within 1 s, and was ended");
        let begin = Instant::now();
        let failure = run(&kernels(30), 500).failure.unwrap();
        assert!(failure.ends_with("no result within 5 s, and was ended"), "{failure}");
        assert!((5.0..7.0).contains(&begin.elapsed().as_secs_f64()));
    }

    #[test]
    fn neither_a_running_process_nor_a_zombie_is_left() {
        let file = tempfile::NamedTempFile::new().unwrap();
        run(&format!("echo $$ > {}; exec sleep 30", file.path().display()), 300);
        let id = std::fs::read_to_string(file.path()).unwrap();
        let alive = Command::new("kill").args(["-0", id.trim()]).stderr(Stdio::null()).status().unwrap();
        assert!(!alive.success(), "process {id} is still there");
    }

    #[test]
    fn a_process_that_is_left_behind_with_the_pipes_does_not_block() {
        let begin = Instant::now();
        let report = run(&format!("sleep 20 & echo '{}'", good()), 5000);
        assert_eq!(report.failure, None);
        assert!(begin.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_process_that_dies_is_reported_with_what_it_said() {
        let said = "echo 'lost device' >&2; echo 'note: run with more' >&2; echo >&2";
        let failure = run(&format!("echo 'doing: opening it'; {said}; kill -SEGV $$"), 5000).failure.unwrap();
        let expected =
            "it crashed while opening it (signal 11 SIGSEGV, an invalid memory access); it said: lost device";
        assert_eq!(failure, expected);
        let failure = run("exit 3", 5000).failure.unwrap();
        assert_eq!(failure, "it crashed (no report, exit code 3)");
        // A crash after a good report counts.
        let failure = run(&format!("echo '{}'; kill -SEGV $$", good()), 5000).failure.unwrap();
        assert!(failure.starts_with("it crashed while it was closed (signal 11"), "{failure}");
    }

    #[test]
    fn a_process_that_prints_anything_else_is_refused() {
        for script in ["true", "echo '{}'", "echo '{\"device\": \"vulkan\"'", "printf '\\377\\376\\n'"] {
            let report = run(script, 5000);
            assert_eq!(report.failure.as_deref(), Some("it crashed (no report, exit code 0)"), "{script}");
            assert!(report.require().is_err());
        }
    }

    #[test]
    fn much_output_does_not_block() {
        let script = format!("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo '{}'", good());
        assert_eq!(run(&script, 20_000).failure, None);
    }

    #[test]
    fn the_process_sees_when_nobody_waits_any_more() {
        // `cat` ends when its input does, which is when the pipe's other end is dropped: not before the limit.
        let begin = Instant::now();
        let report = run("exec cat", 300);
        assert!(report.failure.unwrap().starts_with("it hung") && begin.elapsed() >= Duration::from_millis(300));
    }

    #[test]
    fn a_command_that_is_not_there_is_an_error() {
        let error = run_guarded("vulkan", Command::new("/nonexistent/wb"), Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains("its self-test could not be started"), "{error}");
    }
}
