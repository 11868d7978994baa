//! BIRD's files: predictions as JSON, gold queries by line, difficulties as JSON or JSON lines.

use std::{fs, path::Path};

use serde_json::Value as Json;

use crate::execute::{Error, Result};

/// A line of the gold file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gold {
    /// The query.
    pub sql: String,
    /// The name of its database.
    pub db_id: String,
}

/// What stands between a prediction and the name of its database.
const SEPARATOR: &str = "\t----- bird -----\t";

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_owned(), source })
}

fn layout(path: &Path, place: &str, what: impl Into<String>) -> Error {
    Error::Layout { place: format!("{}{place}", path.display()), what: what.into() }
}

/// Predictions in the order of the file: an object of `"number": "SQL\t----- bird -----\tdb_id"`.
///
/// # Errors
///
/// If the file cannot be read or is no JSON object.
pub fn predictions(path: &Path) -> Result<Vec<String>> {
    let parsed: Json = serde_json::from_str(&read(path)?).map_err(|error| layout(path, "", error.to_string()))?;
    let Json::Object(entries) = parsed else {
        return Err(layout(path, "", "expected an object of predictions by number"));
    };
    Ok(entries.values().map(prediction).collect())
}

/// The query of one entry, as the evaluator reads it: without the separator, or with several, the whole text without the
/// space around it is the query; what is no text is an empty query, which is wrong.
pub fn prediction(entry: &Json) -> String {
    let Json::String(text) = entry else { return " ".to_owned() };
    match text.split(SEPARATOR).collect::<Vec<_>>()[..] {
        [sql, _] => sql.to_owned(),
        _ => text.trim().to_owned(),
    }
}

/// Gold queries: `SQL TAB db_id` per line.
///
/// # Errors
///
/// If the file cannot be read, or a line has not exactly one tab.
pub fn gold(path: &Path) -> Result<Vec<Gold>> {
    let line = |(at, line): (usize, &str)| match line.trim().split('\t').collect::<Vec<_>>()[..] {
        [sql, db_id] => Ok(Gold { sql: sql.to_owned(), db_id: db_id.to_owned() }),
        ref parts => {
            Err(layout(path, &format!(":{}", at + 1), format!("{} fields, expected `SQL TAB db_id`", parts.len())))
        }
    };
    read(path)?.lines().enumerate().map(line).collect()
}

/// The difficulty of each question (`simple`, `moderate`, `challenging`): one JSON object per line, or an array of them.
///
/// # Errors
///
/// If the file cannot be read, or an entry has no `difficulty`.
pub fn difficulties(path: &Path) -> Result<Vec<String>> {
    let text = read(path)?;
    let entries: Vec<Json> = if text.trim_start().starts_with('[') {
        serde_json::from_str(&text).map_err(|error| layout(path, "", error.to_string()))?
    } else {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let parse = |(at, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| layout(path, &format!(":{}", at + 1), error.to_string()))
        };
        lines.map(parse).collect::<Result<_>>()?
    };
    let difficulty = |(at, entry): (usize, &Json)| match entry.get("difficulty").and_then(Json::as_str) {
        Some(level) => Ok(level.to_owned()),
        None => Err(layout(path, "", format!("entry {at} has no `difficulty`"))),
    };
    entries.iter().enumerate().map(difficulty).collect()
}
