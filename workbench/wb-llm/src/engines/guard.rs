//! A program that ends when we end, in whatever way.

use std::{
    path::Path,
    process::{Command, Stdio},
};

/// The program behind a guard, which ends it when its own standard input closes.
pub(super) fn guarded(program: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "llama-server-guard"]).arg(program).args(arguments).stdin(Stdio::piped());
    command
}

/// Runs the program and kills it when its standard input closes, which the system does when we end in whatever way. (The
/// parent-death signal of Linux is tied to the thread that started the child, not to the process, and setting it needs
/// `unsafe`.) Ends as the program ends, 128 and the signal's number for a signal. It is deaf to the INT that a terminal
/// sends to all of us, as what a shell runs in the background is anyway: one that ended it before it has its second
/// half would leave the program with nobody to kill it.
const GUARD: &str = r#"trap '' INT
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
{ read -r _ <&3; kill -9 $server; } 2>/dev/null &
guard=$!
exec 3<&-
wait $server
code=$?
kill $guard 2>/dev/null
exit $code"#;
