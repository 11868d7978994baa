//! What can go wrong while snippets are read: every variant names the file, the place in it, and what was expected.

use std::collections::BTreeMap;

/// The result of reading snippets.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a source of snippets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Files and values of the config.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// A source tree.
    #[error(transparent)]
    Code(#[from] wb_code::Error),
    /// Files of records.
    #[error(transparent)]
    Data(#[from] wb_data::Error),
    /// A file, or a record of it, that is not what it should be.
    #[error("{place}: {message}")]
    Bad {
        /// `file:line`, `file: cell N`, `file: row N`.
        place: String,
        /// A short name to count by: `bad UTF-8`, `not JSON`.
        reason: &'static str,
        /// What is wrong and what was expected.
        message: String,
    },
    /// More bad ones than can be skipped in good conscience.
    #[error("{name}: {bad} of {of} are bad, more than `max_bad_share` {share} ({})", listed(.reasons))]
    TooManyBad {
        /// The source.
        name: String,
        /// How many are bad.
        bad: u64,
        /// How many there are.
        of: u64,
        /// How many may be.
        share: f64,
        /// The bad ones by reason.
        reasons: BTreeMap<String, u64>,
        /// The first of them.
        #[source]
        first: Box<Error>,
    },
    /// A database that cannot be read as it is.
    #[error("{path}: {message}")]
    Database {
        /// The file.
        path: String,
        /// What is wrong and what was expected.
        message: String,
        /// Another way out.
        hint: Option<String>,
        /// SQLite's own words.
        #[source]
        source: Option<Box<rusqlite::Error>>,
    },
    /// Nothing is left to work with.
    #[error("{what}")]
    Empty {
        /// What is empty, and what emptied it.
        what: String,
        /// Which option to change.
        hint: Option<String>,
    },
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::Code(error) => error.hint(),
            Self::Data(error) => error.hint(),
            Self::Bad { .. } => Some("`on_bad: skip` counts such ones and goes on".into()),
            Self::TooManyBad { .. } => Some("look at the first bad one; it may be a source of another kind".into()),
            Self::Database { hint, .. } | Self::Empty { hint, .. } => hint.clone(),
        }
    }

    pub(super) fn bad(place: impl Into<String>, reason: &'static str, message: impl Into<String>) -> Self {
        Self::Bad { place: place.into(), reason, message: message.into() }
    }

    /// What to count it by, if it is the fault of one record or file and not of the whole source.
    pub(super) fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Bad { reason, .. } | Self::Data(wb_data::Error::Record { reason, .. }) => Some(reason),
            _ => None,
        }
    }
}

fn listed(reasons: &BTreeMap<String, u64>) -> String {
    reasons.iter().map(|(reason, count)| format!("{reason}: {count}")).collect::<Vec<_>>().join(", ")
}
