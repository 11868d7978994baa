//! Rows of gretel's synthetic_text_to_sql: a question, the statements that make its database, and its query.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use wb_core::{Origin, Pair, Task, fingerprint::Fingerprint};
use wb_sql::benchmarks::entries;

use super::TextFormat;
use crate::{Error, Result};

const WHAT: &str = "rows of synthetic_text_to_sql have sql_prompt, sql_context and sql";

/// A row; its other columns are not needed.
#[derive(Deserialize)]
struct Row {
    sql_prompt: String,
    sql_context: String,
    sql: String,
}

/// True for a file of rows; anything else is a folder in Spider's layout.
pub(super) fn is_rows(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "parquet" || ending == "jsonl" || ending == "json")
}

/// A pair for each row of a file, in order. Rows over the same database are one group, which a split keeps together.
pub(super) fn pairs(path: &Path, positive: &TextFormat) -> Result<Vec<Pair>> {
    let rows = read(path)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let pair = |(row, at): (Row, usize)| {
        let parts =
            [(positive.context, &row.sql_context), (positive.question, &row.sql_prompt), (positive.sql, &row.sql)];
        let parts: Vec<&str> = parts.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, text)| &**text).collect();
        let group = Fingerprint::of_bytes(row.sql_context.as_bytes()).as_str()[..16].to_owned();
        Pair {
            id: format!("row-{at:06}"),
            task: Task::Text2code,
            language: "sql".to_owned(),
            positive: parts.join("\n"),
            anchor: row.sql_prompt,
            origin: Origin { group, path: file.clone().into_owned(), ..Origin::default() },
            ..Pair::default()
        }
    };
    if rows.is_empty() {
        return Err(Error::data(path, None, "there are no rows"));
    }
    Ok(rows.into_iter().zip(1..).map(pair).collect())
}

fn read(path: &Path) -> Result<Vec<Row>> {
    if path.extension().is_none_or(|ending| ending != "parquet") {
        return Ok(entries::values(path, WHAT)?);
    }
    let rows = wb_data::parquet_rows(path, &["sql_prompt", "sql_context", "sql"])?;
    let typed = |(row, at): (&Value, usize)| {
        Row::deserialize(row).map_err(|error| Error::data(path, Some(format!("row {at}")), format!("{error}; {WHAT}")))
    };
    rows.iter().zip(1..).map(typed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_pairs_and_those_over_one_database_a_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        let row = |prompt: &str, context: &str| serde_json::json!({ "id": 1, "sql_prompt": prompt, "sql_context": context, "sql": "SELECT a FROM t" });
        let lines = [
            row("a?", "CREATE TABLE t (a INT)"),
            row("b?", "CREATE TABLE t (b INT)"),
            row("c?", "CREATE TABLE t (a INT)"),
        ];
        std::fs::write(&path, lines.map(|line| line.to_string()).join("\n")).unwrap();
        let all = pairs(&path, &TextFormat::default()).unwrap();
        let texts: Vec<(&str, &str)> = all.iter().map(|pair| (pair.anchor.as_str(), pair.positive.as_str())).collect();
        assert_eq!(texts[0], ("a?", "CREATE TABLE t (a INT)\nSELECT a FROM t"));
        assert_eq!((texts.len(), texts[1].0, all[2].id.as_str()), (3, "b?", "row-000003"));
        assert_eq!(all[0].origin.group, all[2].origin.group);
        assert_ne!(all[0].origin.group, all[1].origin.group);
        std::fs::write(&path, "{\"sql\": \"SELECT 1\"}").unwrap();
        assert!(pairs(&path, &TextFormat::default()).unwrap_err().to_string().contains("missing field `sql_prompt`"));
        let path = folder.path().join("rows.parquet");
        std::fs::write(&path, "PAR1").unwrap();
        assert!(pairs(&path, &TextFormat::default()).unwrap_err().to_string().contains("rows.parquet: not a whole"));
    }
}
