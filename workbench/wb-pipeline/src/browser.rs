//! A page shown in a browser: the one that `BROWSER` names, else the system's.

use std::{
    env, io,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::output;

/// Time that is waited for a program that cannot show anything, and ends at once; a browser stays, or hands the page
/// over.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opens a page and remarks how that went. A machine without a browser is no error: the remark has the page's path.
pub fn open(page: &Path) {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    let failed = match browser() {
        Err(reason) => Some(reason),
        Ok(command) => match start(&command, &page) {
            Err(error) => Some(format!("`{}` cannot be started: {error}", command.join(" "))),
            Ok(Some(status)) if !status.success() => Some(format!("`{}` ended with {status}", command.join(" "))),
            Ok(_) => None,
        },
    };
    output::note(match failed {
        None => format!("opened {}", page.display()),
        Some(reason) => format!("not opened: {reason}; the page is {}", page.display()),
    });
}

/// A program and its options; the page comes behind them.
fn browser() -> Result<Vec<String>, String> {
    if let Some(named) = env::var("BROWSER").ok().filter(|named| !named.trim().is_empty()) {
        // A path may have spaces in it; what is no path is a command with its options.
        return Ok(match Path::new(&named).is_file() {
            true => vec![named],
            false => named.split_whitespace().map(str::to_owned).collect(),
        });
    }
    let words = |words: &[&str]| Ok(words.iter().map(|word| (*word).to_owned()).collect());
    if cfg!(target_os = "macos") {
        return words(&["open"]);
    }
    if cfg!(windows) {
        // `start` is a word of the shell; what it reads first in quotes would be a title.
        return words(&["cmd", "/C", "start", ""]);
    }
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") {
        return words(&["xdg-open"]);
    }
    Err("there is no display, and BROWSER names no program".to_owned())
}

/// Starts it; how it ended, if it ended soon.
fn start(command: &[String], page: &Path) -> io::Result<Option<ExitStatus>> {
    let [program, options @ ..] = command else { return Err(io::ErrorKind::NotFound.into()) };
    let silent = || Stdio::null();
    let mut child =
        Command::new(program).args(options).arg(page).stdin(silent()).stdout(silent()).stderr(silent()).spawn()?;
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(None)
}
