//! Lines for people: results and remarks, which go to the one listener of the process.

mod errors;
mod table;

use std::{
    io::{self, ErrorKind},
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
};

use wb_core::{Error, painted::Painted};

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

/// The first error of writing results, until it is told.
static UNWRITTEN: Mutex<Option<io::Error>> = Mutex::new(None);

/// Keeps the error of a result that could not be written, as to a full disk. Where nobody reads any more (`wb ls | head`),
/// there is nobody to tell.
pub fn written(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// The error of results that could not be written, if any could not.
pub fn unwritten() -> Option<Error> {
    let error = UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    error.map(Error::io("write", Path::new("standard output")))
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
