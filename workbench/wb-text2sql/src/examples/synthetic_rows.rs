//! Rows of gretel's synthetic_text_to_sql: a question, the statements that make its database, and its query.

use std::{fs::File, io::Read, path::Path};

use serde::Deserialize;
use serde_json::Value;
use wb_core::{Origin, Pair, Task, fingerprint::Fingerprint};
use wb_sql::benchmarks::entries;

use super::{DatabaseQuestion, TextFormat};
use crate::{Error, Result, schema::Catalogs};

/// Bytes of a file in which its first row ends.
const MOST_OF_A_ROW: u64 = 1 << 20;

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

/// True for a file of rows among lists of questions, which are JSON too: its first object has a `sql_prompt`.
pub(super) fn are_in(path: &Path) -> bool {
    is_rows(path) && (path.extension().is_none_or(|ending| ending != "json") || begins_with_row(path))
}

fn begins_with_row(path: &Path) -> bool {
    let mut bytes = Vec::new();
    if File::open(path).and_then(|file| file.take(MOST_OF_A_ROW).read_to_end(&mut bytes)).is_err() {
        return false;
    }
    let at = bytes.iter().position(|byte| *byte == b'{').unwrap_or(bytes.len());
    let first = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<Value>().next();
    first.is_some_and(|first| first.is_ok_and(|first| first.get("sql_prompt").is_some()))
}

/// The rows as questions with queries; the catalogs get their databases, which rows over the same statements share.
pub(super) fn examples(path: &Path, catalogs: &mut Catalogs) -> Result<Vec<DatabaseQuestion>> {
    let example = |row: Row| {
        let db_id = database(&row.sql_context);
        if !catalogs.has(&db_id) {
            catalogs.add_script(&db_id, &row.sql_context)?;
        }
        Ok(DatabaseQuestion { db_id, question: row.sql_prompt, gold: row.sql })
    };
    read(path)?.into_iter().map(example).collect()
}

/// Name of the database that a row's statements make.
fn database(context: &str) -> String {
    Fingerprint::of_bytes(context.as_bytes()).as_str()[..16].to_owned()
}

/// A pair for each row of a file, in order. Rows over the same database are one group, which a split keeps together.
pub(super) fn pairs(path: &Path, positive: &TextFormat) -> Result<Vec<Pair>> {
    let rows = read(path)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let pair = |(row, at): (Row, usize)| {
        let parts =
            [(positive.context, &row.sql_context), (positive.question, &row.sql_prompt), (positive.sql, &row.sql)];
        let parts: Vec<&str> = parts.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, text)| &**text).collect();
        let group = database(&row.sql_context);
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
        return Err(Error::file(path, "there are no rows"));
    }
    Ok(rows.into_iter().zip(1..).map(pair).collect())
}

fn read(path: &Path) -> Result<Vec<Row>> {
    if path.extension().is_none_or(|ending| ending != "parquet") {
        return entries::values(path, WHAT);
    }
    entries::of_rows(path, &wb_data::parquet_rows(path, &["sql_prompt", "sql_context", "sql"])?, WHAT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{examples::training, predict::Predictor};

    #[test]
    fn rows_are_examples_over_databases_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let tables = folder.path().join("tables.json");
        std::fs::write(&tables, "[]").unwrap();
        let row = |prompt: &str, context: &str, sql: &str| serde_json::json!({ "sql_prompt": prompt, "sql_context": context, "sql": sql });
        let script = "CREATE TABLE boat (name TEXT, town TEXT); INSERT INTO boat VALUES ('Emma', 'Bonn')";
        let rows = [
            row("Which boats?", script, "SELECT name FROM boat WHERE town = 'Bonn';"),
            row("How many boats?", script, "SELECT count(*) FROM boat"),
            row("What else?", "no statement", "SELECT x FROM nowhere"),
        ];
        let lines = rows.each_ref().map(ToString::to_string).join("\n");
        for (name, text) in [("rows.jsonl", lines), ("rows.json", serde_json::json!(rows).to_string())] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let mut catalogs = Catalogs::load(&tables).unwrap();
            let read = training(&[&path], None, &mut catalogs).unwrap().documents;
            let ids: Vec<&str> = read.iter().map(|one| one.id.as_str()).collect();
            assert_eq!(ids, ["train-00000", "train-00001", "train-00002"]);
            assert!(read[0].db_id == read[1].db_id && read[0].db_id != read[2].db_id);
            assert_eq!(read[0].question.as_deref(), Some("Which boats?"));
            let text = TextFormat::default().document(&read[0], &catalogs).unwrap();
            assert_eq!(text, format!("{script}\nSELECT name FROM boat WHERE town = 'Bonn';"));
            // Queries are read with the tables that their own statements make.
            let predictor = Predictor::new(&catalogs, &read).unwrap();
            let is_read = [0, 1, 2].map(|at| predictor.query(at).is_some());
            assert_eq!(is_read, [true, true, false], "{name}");
        }
        let path = folder.path().join("list.json");
        std::fs::write(&path, r#"[{"db_id": "d", "question": "?", "query": "SELECT 1"}]"#).unwrap();
        assert!(!are_in(&path) && !are_in(&folder.path().join("none.json")));
    }

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
