//! What can go wrong between a folder of benchmark data and its numbers.

use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of `wb-bench`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error that the ground crate words already: files, values, data that contradicts itself.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// An error of the lexical index, of a ranking or of a metric.
    #[error(transparent)]
    Retrieval(#[from] wb_retrieval::Error),
    /// A line of a data file that is not what it should be.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong and what was expected.
        message: String,
        /// The parser's answer, where there is one.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// A file that is one JSON value and is not what it should be.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong and what was expected.
        message: String,
        /// The parser's answer, where there is one.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// A table that is not CSV.
    #[error("{}: not a CSV table with a header", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The reader's answer, with the line.
        #[source]
        source: csv::Error,
    },
    /// A folder in which no known layout was found.
    #[error("{}: no data of benchmark {benchmark} found", path.display())]
    Layout {
        /// The folder.
        path: PathBuf,
        /// The benchmark.
        benchmark: &'static str,
        /// The files that would have been read.
        expected: String,
    },
    /// The encoder failed.
    #[error("encoder {encoder} failed on {what}")]
    Encoder {
        /// Its name.
        encoder: String,
        /// `queries` or `documents`.
        what: &'static str,
        /// Its answer.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The encoder gave vectors that cannot be measured.
    #[error("encoder {encoder}: {message}")]
    Vectors {
        /// Its name.
        encoder: String,
        /// What is wrong and what was expected.
        message: String,
    },
    /// Two outcomes that must not be compared.
    #[error("these two measurements cannot be compared: {}", differences.join("; "))]
    Incomparable {
        /// What differs, with both values.
        differences: Vec<String>,
    },
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::Layout { expected, .. } => Some(format!("expected one of: {expected}")),
            Self::Incomparable { .. } => Some("measure both again on the same data with the same settings".into()),
            _ => None,
        }
    }
}
