//! Errors that several parts of this crate make.

use std::fmt::Display;

pub use wb_core::{Error, Result};

/// The words of an error of a device, without the device's name.
pub(crate) struct DeviceFailure(pub String);

/// A device that this build or machine lacks, or that computes wrongly.
pub(crate) fn cannot_use(device: impl Display, message: impl Into<String>) -> Error {
    let message = message.into();
    Error::failed(format!("cannot use device `{device}`: {message}")).of_kind(DeviceFailure(message))
}

/// Refuses a value of a config, unless it is `fine`.
pub(crate) fn expect_value(key: impl Into<String>, value: impl Display, fine: bool, expected: &str) -> Result<()> {
    if fine { Ok(()) } else { Err(Error::value(key, format!("got {value}, expected {expected}"))) }
}

/// A training that cannot go on: a loss or gradient that is not a number, for example. Steps count from 1.
pub fn training_stopped(step: u64, message: &str) -> Error {
    Error::failed(format!("training stopped at step {step}: {message}"))
}
