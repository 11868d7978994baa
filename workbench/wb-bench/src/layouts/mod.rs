//! How benchmark data lies in folders, one layout per file.

pub mod annotated;
pub mod codesearchnet;
pub mod cosqa;
pub mod files;

pub use files::Files;
