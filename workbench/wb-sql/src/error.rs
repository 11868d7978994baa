//! Errors of schemas and of gold queries. Predictions have none: what cannot be read is a verdict.

use std::path::Path;

use wb_core::{Error, suggest};

/// A file that is no list of schemas.
pub fn no_schemas(path: &Path, source: serde_json::Error) -> Error {
    Error::file(path, "expected a list of schemas as Spider's tables.json has them").with_cause(source)
}

/// A schema that speaks of a table or column that it does not have.
pub fn no_such_index(db_id: &str, what: &str, index: i64, count: usize) -> Error {
    Error::data(format!("schema `{db_id}`"), format!("{what} {index}, but there are {count}"))
}

/// A database without a schema; the hint is a near name.
pub fn no_schema<'a>(db_id: &str, known: impl Iterator<Item = &'a str>) -> Error {
    Error::failed(format!("no schema for the database `{db_id}`")).with_hint_if(suggest::hint(db_id, known))
}
