//! The judge of text-to-SQL: exact match by the grammar of Spider, execution accuracy in real databases.
//!
//! It knows SQL and SQLite, and nothing of encoders or language models: predictions come in as text, verdicts go out.

pub mod benchmarks;
pub mod bird;
mod compat;
mod error;
pub mod exact;
pub mod execute;
pub mod spider;

pub use compat::Compat;
pub use error::{no_schema, no_schemas, no_such_index};
pub use wb_core::{Error, Result};
