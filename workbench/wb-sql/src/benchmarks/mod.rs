//! Benchmarks of text-to-SQL: predicted queries judged beside gold queries, with figures by level and a record of every
//! question.
//!
//! [`SqlBenchmark::measure`] judges a file of predictions; [`judged::judge`] judges Spider's questions out of memory.

mod bird;
pub mod databases;
pub mod entries;
pub mod exact;
pub mod files;
pub mod judged;
mod levels;
mod predictions;
pub mod protocols;
pub mod scores;
mod spider;
mod spider_questions;
mod sql_benchmark;
pub mod status;
mod submission;
mod synthetic_sql;

use wb_core::Progress;

pub use self::{
    scores::SqlScores, sql_benchmark::SqlBenchmark, submission::SqlSubmission,
    synthetic_sql::COLUMNS as SYNTHETIC_SQL_COLUMNS,
};

/// A listener to progress, who may be called from any thread.
pub type SendProgress<'a> = dyn FnMut(Progress) + Send + 'a;
