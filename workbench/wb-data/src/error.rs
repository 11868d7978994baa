//! Errors of pairs: every variant names the file, the line or row, and what was expected.

use std::{collections::BTreeMap, fmt, path::Path, sync::Arc};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The place of a record in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordPlace {
    /// The file.
    pub path: Arc<Path>,
    /// Line (or row, in a table) from 1.
    pub line: usize,
    /// Column in bytes from 1; 0 for rows of a table.
    pub column: usize,
}

impl RecordPlace {
    /// A line of a text file, at its first column.
    pub fn line(path: &Arc<Path>, line: usize) -> Self {
        Self { path: Arc::clone(path), line, column: 1 }
    }

    /// A row of a table.
    pub fn row(path: &Arc<Path>, row: usize) -> Self {
        Self { path: Arc::clone(path), line: row, column: 0 }
    }

    /// Moves to another column of the line; rows of a table stay rows.
    #[must_use]
    pub fn at(mut self, column: usize) -> Self {
        if self.column > 0 {
            self.column = column.max(1);
        }
        self
    }
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "{}: row {}", self.path.display(), self.line),
            column => write!(f, "{}:{}:{column}", self.path.display(), self.line),
        }
    }
}

/// An error of `wb-data`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the ground crate: files, config values.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// A file, or a record of it, that is not what it should be.
    #[error("{place}: {message}")]
    Record {
        /// Its place: `file:line:column`, `file: row N`, `file: cell N`.
        place: String,
        /// A short name to count by: `bad UTF-8`, `missing field`.
        reason: &'static str,
        /// The fault, and what was expected.
        message: String,
        /// A near name or another way out.
        hint: Option<String>,
    },
    /// A file that cannot be read as what its name says.
    #[error("{path}: {message}")]
    File {
        /// The file, or the source.
        path: String,
        /// The fault, and what was expected.
        message: String,
        /// Another way out.
        hint: Option<String>,
        /// The reader's own words.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// More bad records than can be skipped in good conscience.
    #[error("{name}: {bad} of {of} are bad, more than `max_bad_share` {share} ({})", listed(.reasons))]
    TooManyBad {
        /// The source.
        name: String,
        /// Number of bad records.
        bad: u64,
        /// Number of all records.
        of: u64,
        /// The share that may be bad.
        share: f64,
        /// The bad ones by reason.
        reasons: BTreeMap<String, u64>,
        /// The first bad record.
        #[source]
        first: Box<Error>,
    },
    /// A stage that left nothing to work with.
    #[error("{what}")]
    Empty {
        /// The thing that is empty, and what emptied it.
        what: String,
        /// The option to change.
        hint: Option<String>,
    },
    /// A file of the hub that cannot be had.
    #[error(transparent)]
    Hub(#[from] wb_hub::Error),
    /// A source tree that cannot be read.
    #[error(transparent)]
    Code(#[from] wb_code::Error),
    /// An error of a reader that stands above this crate.
    #[error("{0}")]
    Reader(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::Hub(error) => error.hint(),
            Self::Code(error) => error.hint(),
            Self::Record { hint, .. } | Self::File { hint, .. } | Self::Empty { hint, .. } => hint.clone(),
            Self::TooManyBad { .. } => {
                Some("look at the first bad record; the file or the field names may be wrong".into())
            }
            Self::Reader(_) => None,
        }
    }

    /// A bad record without a hint; `reason` is what it is counted by.
    pub fn record(place: impl ToString, reason: &'static str, message: impl Into<String>) -> Self {
        Self::Record { place: place.to_string(), reason, message: message.into(), hint: None }
    }

    /// A bad file without a hint.
    pub fn file(path: &Path, message: impl Into<String>) -> Self {
        Self::File { path: path.display().to_string(), message: message.into(), hint: None, source: None }
    }

    /// Adds a hint, where the variant can hold one.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Record { hint, .. } | Self::File { hint, .. } | Self::Empty { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// Adds the cause, where the variant can hold one.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        if let Self::File { source, .. } = &mut self {
            *source = Some(cause.into());
        }
        self
    }
}

fn listed(reasons: &BTreeMap<String, u64>) -> String {
    reasons.iter().map(|(reason, count)| format!("{reason}: {count}")).collect::<Vec<_>>().join(", ")
}
