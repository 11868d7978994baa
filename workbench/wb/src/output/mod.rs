//! The only place that prints: results, errors with hints, and how far the work is.

mod bars;
mod errors;
mod terminal;

use std::io::{IsTerminal, Write, stderr, stdin, stdout};

use anstream::{AutoStream, ColorChoice};
use wb_core::{Progress, painted::Painted, remote, untrusted::harmless};
use wb_pipeline::output::{Listener, written};

pub use bars::{Bars, clear_before_panics, close, finish, is_shown, report};
pub use errors::error;
pub use wb_pipeline::output::table;

/// Prints what the pipeline tells.
pub struct Printer;

impl Listener for Printer {
    fn line(&self, text: &str) {
        line(text);
    }

    fn painted(&self, text: &Painted) {
        let in_colors = AutoStream::choice(&stdout()) != ColorChoice::Never;
        let shown = |text: &str| harmless(&remote::shown(text)).into_owned();
        bars::above(|| written(writeln!(stdout(), "{}", text.told(in_colors, shown))));
    }

    fn note(&self, text: &str) {
        note(text);
    }
}

/// A line of result.
pub fn line(text: impl AsRef<str>) {
    bars::above(|| written(writeln!(stdout(), "{}", harmless(&remote::shown(text.as_ref())))));
}

/// A remark that is no result.
pub fn note(text: impl AsRef<str>) {
    bars::above(|| drop(writeln!(stderr(), "{}", harmless(&remote::shown(text.as_ref())))));
}

/// Does something that threads tell the progress of, and shows how far it is.
pub fn with_bars<T>(work: impl FnOnce(&mut (dyn FnMut(Progress) + Send)) -> T) -> T {
    let mut bars = Bars::new();
    let done = work(&mut |now| bars.report(now));
    bars.finish();
    done
}

/// True where a person can be asked: what they type and what they are asked are on a terminal.
pub fn can_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// The stream that questions to a person are written to.
pub fn questions() -> impl Write {
    stderr()
}
