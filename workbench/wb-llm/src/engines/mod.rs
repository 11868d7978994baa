//! The engines: each is one way to reach a model.

#[cfg(feature = "embedded")]
pub mod embedded;
