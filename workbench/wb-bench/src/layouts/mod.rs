//! Layouts of benchmark data in folders, one per file.

pub mod annotated;
pub mod codesearchnet;
pub mod cosqa;
pub mod files;

pub use files::{Files, no_layout};
