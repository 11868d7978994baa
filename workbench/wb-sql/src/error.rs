//! What can go wrong around exact match: files of schemas that cannot be read, databases that are not in them.

use std::path::PathBuf;

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
