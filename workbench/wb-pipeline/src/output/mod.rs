//! Lines for people: results and remarks, which go to the one listener of the process.

mod errors;
mod table;

use std::sync::OnceLock;

use wb_core::painted::Painted;

pub use errors::{hint, in_one_line};
pub use table::table;

/// Takes what the pipeline tells, from any thread.
pub trait Listener: Send + Sync {
    /// A line of result.
    fn line(&self, text: &str);
    /// Lines of result that may have colors.
    fn painted(&self, text: &Painted);
    /// A remark that is no result.
    fn note(&self, text: &str);
}

static LISTENER: OnceLock<Box<dyn Listener>> = OnceLock::new();

/// Tells everything from here on to a listener, once in a process; without one it is dropped.
pub fn listen(listener: impl Listener + 'static) {
    LISTENER.get_or_init(|| Box::new(listener));
}

/// Tells a line of result.
pub fn line(text: impl AsRef<str>) {
    if let Some(listener) = LISTENER.get() {
        listener.line(text.as_ref());
    }
}

/// Tells lines of result, in colors where they can be seen.
pub fn painted(text: &Painted) {
    if let Some(listener) = LISTENER.get() {
        listener.painted(text);
    }
}

/// Tells a remark that is no result.
pub fn note(text: impl AsRef<str>) {
    if let Some(listener) = LISTENER.get() {
        listener.note(text.as_ref());
    }
}
