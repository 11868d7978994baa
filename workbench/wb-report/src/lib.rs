//! Run folders to one self-contained HTML page, with the charts as PNG files beside it; and all runs to one page of
//! leaderboards ([`index`]).
//!
//! A report reads what a run wrote and nothing else: every number on the page stands in a file of the run.
//! [`triples`] shows mined hard negatives in the same way, [`ab`] an experiment with two ways to embed a corpus,
//! [`rag`] text-to-SQL with and without retrieved examples.
//! Everything in a run folder is untrusted text (code, queries, licences, file names), and is shown as text.

mod ab;
mod charts;
mod compared;
mod contestants;
mod data_uri;
mod gather;
mod highlight;
mod numbers;
mod page;
mod queries;
mod rag;
mod report;
mod run_tables;
mod runs;
mod sections;
mod stages;
mod table;
mod template;
mod triples;
mod words;

pub use ab::ab;
pub use rag::rag;
pub use report::{ChartedPage, ReportFiles, report};
pub use runs::{Leaderboard, LeaderboardRow, index, leaderboards, sweep};
pub use triples::triples;
pub use wb_core::{Error, Result};
