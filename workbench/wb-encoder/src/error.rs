//! Errors that several parts of this crate make.

use std::fmt::Display;

use wb_core::error::Cause;

pub use wb_core::{Error, Result};

/// The kind of an error of a device.
#[derive(Debug, Clone)]
pub struct DeviceFailure {
    /// Its words without the device's name.
    pub words: String,
    /// True where its memory ran out.
    pub out_of_memory: bool,
}

/// The kind of an error that a process which shares a training is gone or cannot be heard. What is here is whole, and the
/// training goes on from it once there is another.
#[derive(Debug, Clone, Copy)]
pub struct LostRank;

/// True where a process that shares a training is lost, however deep in the error that stands.
pub fn is_lost_rank(error: &(dyn std::error::Error + 'static)) -> bool {
    let own = error.downcast_ref::<Error>().is_some_and(|error| error.kind::<LostRank>().is_some());
    own || error.source().is_some_and(is_lost_rank)
}

/// An error of a second encoder that a loss asks, with its name.
pub(crate) fn of_guide(name: &str, error: Cause) -> Error {
    match is_lost_rank(&*error) {
        true => Error::failed(format!("guide {name} cannot be asked")).with_cause(error),
        false => Error::data(format!("guide {name}"), error.to_string()),
    }
}

/// A device that this build or machine lacks, or that computes wrongly.
pub(crate) fn cannot_use(device: impl Display, message: impl Into<String>) -> Error {
    device_error(device, message.into(), false)
}

/// Work that failed on a device, in the words of its library.
#[cfg(feature = "burn")]
pub(crate) fn failed_on(device: impl Display, doing: &str, words: &str) -> Error {
    let refuses = |line: &&str| OUT_OF_MEMORY.iter().any(|refused| line.to_lowercase().contains(refused));
    match words.lines().find(refuses) {
        Some(line) => device_error(device, format!("its memory ran out: {}", line.trim()), true)
            .with_hint("shorter texts (encoder.max_tokens), or device=cpu"),
        None => device_error(device, format!("{doing}: {}", words.trim()), false).with_hint("run with device=cpu"),
    }
}

/// True where a device's memory ran out. What was there before still is, and less may fit.
pub(crate) fn is_out_of_memory(error: &Error) -> bool {
    error.kind::<DeviceFailure>().is_some_and(|failure| failure.out_of_memory)
}

/// Words by which CubeCL and wgpu refuse an allocation; they give no number to tell it by.
#[cfg(feature = "burn")]
const OUT_OF_MEMORY: [&str; 5] =
    ["out of device memory", "out-of-memory", "out of memory", "outofmemory", "can't allocate "];

fn device_error(device: impl Display, words: String, out_of_memory: bool) -> Error {
    Error::failed(format!("cannot use device `{device}`: {words}")).of_kind(DeviceFailure { words, out_of_memory })
}

/// Refuses a value of a config, unless it is `fine`.
pub(crate) fn expect_value(key: impl Into<String>, value: impl Display, fine: bool, expected: &str) -> Result<()> {
    if fine { Ok(()) } else { Err(Error::value(key, format!("got {value}, expected {expected}"))) }
}

/// A training that cannot go on: a loss or gradient that is not a number, for example. Steps count from 1.
pub fn training_stopped(step: u64, message: &str) -> Error {
    Error::failed(format!("training stopped at step {step}: {message}"))
}
