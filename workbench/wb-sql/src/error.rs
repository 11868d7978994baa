//! What can go wrong in judging: files that cannot be read or do not belong together, schemas, workers.

use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of `wb-sql`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error that the ground crate words already: files, values, data that contradicts itself.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// Schemas.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Databases, and the workers that run statements in them.
    #[error(transparent)]
    Execute(#[from] crate::execute::Error),
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::Schema(_) | Self::Execute(_) => None,
        }
    }
}

/// An error of schemas and of gold queries. Predictions have none: what cannot be read is a verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is no list of schemas.
    #[error("{}: expected a list of schemas as Spider's tables.json has them", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and what.
        #[source]
        source: serde_json::Error,
    },
    /// A schema speaks of a table or column that it does not have.
    #[error("schema `{db_id}`: {what} {index}, but there are {count}")]
    Index {
        /// The database.
        db_id: String,
        /// What is numbered wrongly.
        what: &'static str,
        /// The number.
        index: i64,
        /// How many there are.
        count: usize,
    },
    /// No schema has this name.
    #[error("no schema for the database `{db_id}`{}", hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
    Unknown {
        /// The name asked for.
        db_id: String,
        /// A near name.
        hint: Option<String>,
    },
}
