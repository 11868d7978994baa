//! Spider's questions: database and gold query of each, from `dev.json` or `dev_gold.sql`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;
use wb_core::{Error, suggest};

use super::{entries, files};
use crate::{Result, spider::DatabaseSchemas};

/// A question.
pub struct SpiderQuestion {
    /// The line of the file on which it begins.
    pub line: usize,
    /// The file's own number of it, if it has one.
    pub id: Option<Json>,
    /// Its database.
    pub db_id: String,
    /// The right query.
    pub gold: String,
}

/// The questions of a file, in its order.
pub struct SpiderQuestions {
    /// The file.
    pub path: PathBuf,
    /// All of them.
    pub all: Vec<SpiderQuestion>,
}

const WHAT: &str = "--dataset DIR has dev.json (a list of objects with db_id and query), tables.json, and \
                    database/ID/*.sqlite; --questions FILE names another file of questions";

#[derive(Deserialize)]
struct WrittenQuestion {
    index: Option<Json>,
    question_id: Option<Json>,
    db_id: String,
    query: Option<String>,
}

impl SpiderQuestions {
    /// The file that is read where none is named: `dev.json`, unless there is only `dev_gold.sql`.
    pub fn file_in(folder: &Path) -> PathBuf {
        let [json, gold] = ["dev.json", "dev_gold.sql"].map(|name| folder.join(name));
        if !json.exists() && gold.exists() { gold } else { json }
    }

    /// Reads the file that was named, else `dev.json`, else `dev_gold.sql`. Where entries have no `query`, the gold
    /// queries stand in `NAME_gold.sql` beside `NAME.json`.
    ///
    /// # Errors
    ///
    /// If it cannot be read, has no questions, or asks databases that the schemas do not have.
    pub fn load(
        folder: &Path,
        named: Option<&Path>,
        schemas: &DatabaseSchemas,
        tables: &Path,
    ) -> Result<SpiderQuestions> {
        let path = match named {
            Some(named) => files::within(folder, named),
            None => Self::file_in(folder),
        };
        let is_sql = path.extension().is_some_and(|ending| ending == "sql" || ending == "txt");
        let all = if is_sql { gold_lines(&path)? } else { from_json(&path)? };
        if all.is_empty() {
            return Err(Error::file(&path, "there are no questions").with_hint(WHAT));
        }
        for question in &all {
            if !schemas.has(&question.db_id) {
                let message = format!("{} has no database `{}`", tables.display(), question.db_id);
                return Err(Error::at(&path, question.line, message)
                    .with_hint_if(suggest::hint(&question.db_id, schemas.ids())));
            }
        }
        Ok(SpiderQuestions { path, all })
    }
}

fn from_json(path: &Path) -> Result<Vec<SpiderQuestion>> {
    let entries = entries::read::<WrittenQuestion>(path, WHAT)?;
    let mut beside = Vec::new();
    let gold = path.with_file_name(format!("{}_gold.sql", path.file_stem().unwrap_or_default().to_string_lossy()));
    if let Some(first) = entries.iter().find(|entry| entry.value.query.is_none()) {
        if !gold.exists() {
            let place = format!("{}:{}", path.display(), first.line);
            let hint = format!("a gold query stands under `query`, or in {} as SQL TAB db_id", gold.display());
            return Err(Error::data(place, "a question without a gold query").with_hint(hint));
        }
        beside = gold_lines(&gold)?;
        if beside.len() != entries.len() {
            let message =
                format!("{} gold queries, but {} has {} questions", beside.len(), path.display(), entries.len());
            let hint = format!("one line of SQL TAB db_id for each question of {}, in its order", path.display());
            return Err(Error::data(gold.display().to_string(), message).with_hint(hint));
        }
        for (line, entry) in beside.iter().zip(&entries) {
            let (named, asked) = (&line.db_id, &entry.value.db_id);
            if named != asked {
                let place = format!("{}:{}", gold.display(), line.line);
                let message =
                    format!("the database is `{named}`, but {}:{} asks `{asked}`", path.display(), entry.line);
                let hint = format!("gold queries stand in the order of {}", path.display());
                return Err(Error::data(place, message).with_hint(hint));
            }
        }
    }
    let mut beside = beside.into_iter().map(|question| question.gold);
    let question = |entry: entries::JsonEntry<WrittenQuestion>| {
        let gold = beside.next();
        let entries::JsonEntry { line, value: WrittenQuestion { index, question_id, db_id, query } } = entry;
        SpiderQuestion { line, id: index.or(question_id), db_id, gold: query.or(gold).unwrap_or_default() }
    };
    Ok(entries.into_iter().map(question).collect())
}

/// `SQL TAB db_id` lines.
fn gold_lines(path: &Path) -> Result<Vec<SpiderQuestion>> {
    let text = files::read(path, WHAT)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let question = |(at, line): (usize, &str)| match line.trim().split('\t').collect::<Vec<_>>()[..] {
        [gold, db_id] => {
            Ok(SpiderQuestion { line: at + 1, id: None, db_id: db_id.trim().to_owned(), gold: gold.to_owned() })
        }
        ref fields => {
            let message = format!("{} fields, expected SQL TAB db_id", fields.len());
            Err(Error::data(format!("{}:{}", path.display(), at + 1), message))
        }
    };
    lines.map(question).collect()
}
