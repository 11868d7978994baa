//! A child process under limits: an empty environment, a folder of its own that goes with it, little time and memory.

use std::{
    io::{Read, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::Interpreter;

/// Time on the clock that a child has.
const WALL: Duration = Duration::from_secs(30);
/// Time of the processor, in seconds.
const CPU_SECONDS: u32 = 20;
/// Address space of a Python process, in KiB. Node reserves far more than it uses, so its heap is limited instead.
const MEMORY_KIB: u64 = 1 << 20;
/// The most that is read of an answer.
const MAX_ANSWER: u64 = 1 << 20;

/// Runs a program with `input` and returns what it writes; `None` where it fails, takes too long or writes too much.
pub(super) fn answer(interpreter: &Interpreter, input: &str, folder: &Path) -> Option<String> {
    // The shell sets the limits and becomes the program: no files are written, no core is dumped.
    let memory = if interpreter.language == wb_code::Language::Python {
        format!("ulimit -v {MEMORY_KIB};")
    } else {
        String::new()
    };
    let script = format!("ulimit -c 0; ulimit -f 0; ulimit -t {CPU_SECONDS}; {memory} exec \"$@\"");
    let mut child = Command::new("/bin/sh")
        .args(["-c", &script, "sh"])
        .arg(&interpreter.program)
        .args(interpreter.arguments(interpreter.harness()))
        .env_clear()
        .env("PYTHONHASHSEED", "0")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .ok()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let input = input.to_owned();
    let writer = thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(input.as_bytes()).is_ok()));
    let reader = thread::spawn(move || {
        let mut text = String::new();
        stdout?.take(MAX_ANSWER).read_to_string(&mut text).ok()?;
        Some(text)
    });
    let succeeded = wait(&mut child);
    end_group(&child);
    let _ = writer.join();
    let text = reader.join().ok().flatten()?;
    succeeded.then_some(text)
}

/// Waits until the child ends by itself, or its time is over.
fn wait(child: &mut Child) -> bool {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    while start.elapsed() < WALL {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => thread::sleep(pause),
            Err(_) => break,
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// Ends whatever the child started and left behind with it, so that nothing holds the pipes open.
fn end_group(child: &Child) {
    let command = format!("kill -KILL -- -{} 2>/dev/null", child.id());
    let _ = Command::new("/bin/sh").args(["-c", &command]).env_clear().status();
}
