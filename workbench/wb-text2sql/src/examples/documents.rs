//! Documents out of a training split: `Document = DATABASE CONTEXT + SQL QUERY`, with the question where there is one.

use std::{collections::HashMap, fs, path::Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::run_dir::read_json;

use wb_sql::{
    Compat,
    spider::{DatabaseSchema, SqlQuery, parse, skeleton},
};

use super::synthetic_rows;
use crate::{Error, Result, schema::Catalogs};

/// An example: a query over its database, with the question that it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleDocument {
    /// `train-00017` for entry 17 (from 0) of the first file of questions, `train2-00017` for that of the second,
    /// `gold-08123` for line 8123 (from 0) of the file of queries. It does not depend on what else is loaded.
    pub id: String,
    /// The database.
    pub db_id: String,
    /// The question; queries without one have none.
    pub question: Option<String>,
    /// The query.
    pub sql: String,
}

/// Parts of a document that are embedded; they come in this order, each on lines of its own. A part that a document
/// does not have is left out; where nothing is left, the query stands.
///
/// The default is context and query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TextFormat {
    /// The schema, as [`SchemaCatalog::context`](crate::schema::SchemaCatalog::context) writes it.
    pub context: bool,
    /// The question.
    pub question: bool,
    /// The query.
    pub sql: bool,
    /// The query's [`skeleton`]: its keywords, with `_` for names and values. A query that cannot be read has none.
    pub form: bool,
}

impl Default for TextFormat {
    fn default() -> Self {
        Self { context: true, question: false, sql: true, form: false }
    }
}

impl TextFormat {
    /// Refuses a format without any part.
    ///
    /// # Errors
    ///
    /// If all of them are false.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.context || self.question || self.sql || self.form {
            return Ok(());
        }
        Err(Error::value(key, "context, question, sql and form are all false, expected one of them at least"))
    }

    /// The text of a document.
    ///
    /// # Errors
    ///
    /// If its database has no schema.
    pub fn document(&self, document: &ExampleDocument, catalogs: &Catalogs) -> Result<String> {
        let catalog = catalogs.get(&document.db_id)?;
        let context = self.context.then(|| catalog.context());
        let question = document.question.as_deref().filter(|_| self.question);
        let sql = self.sql.then_some(document.sql.as_str());
        let form = match self.form {
            true => read(&document.sql, &catalog.schema).map(|query| skeleton(&query)),
            false => None,
        };
        let parts: Vec<&str> = [context.as_deref(), question, sql, form.as_deref()].into_iter().flatten().collect();
        Ok(if parts.is_empty() { document.sql.clone() } else { parts.join("\n") })
    }
}

/// A query in the published grammar, else in the one that is wider.
pub(crate) fn read(sql: &str, schema: &DatabaseSchema) -> Option<SqlQuery> {
    parse(sql, schema, Compat::Official).or_else(|_| parse(sql, schema, Compat::Strict)).ok()
}

/// A question with its gold query, as an entry of a file of questions: Spider's own, or Spider-Syn's with the original
/// question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DatabaseQuestion {
    /// The database.
    pub db_id: String,
    /// The question.
    #[serde(alias = "SpiderQuestion")]
    pub question: String,
    /// The right query.
    #[serde(rename = "query")]
    pub gold: String,
}

/// The documents of a training split.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrainingExamples {
    /// Documents with questions in the file's order, then those without.
    pub documents: Vec<ExampleDocument>,
    /// Queries of the second file that the first has too, so often.
    pub repeated: usize,
}

/// Reads questions with their queries (JSON lists of `db_id`, `query` and `question` or `SpiderQuestion`), and from the
/// other file, if it is wanted, the queries that the lists do not have (`SQL TAB db_id` in each line). Rows of
/// synthetic_text_to_sql are questions over databases of their own, which are added to the catalogs.
///
/// Two queries over one database are the same where they are so but for case, white space and `;`.
///
/// # Errors
///
/// With file and entry or line: what is no such list, an empty query or question, a line without a tab, a database that
/// has no schema.
pub fn training(
    questions: &[impl AsRef<Path>],
    gold: Option<&Path>,
    catalogs: &mut Catalogs,
) -> Result<TrainingExamples> {
    let mut training = TrainingExamples::default();
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    for (file, questions) in questions.iter().map(AsRef::as_ref).enumerate() {
        let name = if file == 0 { "train".to_owned() } else { format!("train{}", file + 1) };
        let all = match synthetic_rows::are_in(questions) {
            true => synthetic_rows::examples(questions, catalogs)?,
            false => rows(questions)?,
        };
        for (at, row) in all.into_iter().enumerate() {
            let place = || format!("entry {at}");
            check(questions, place, &row.db_id, &row.gold, catalogs)?;
            if row.question.trim().is_empty() {
                return Err(Error::at(questions, place(), "the question is empty, expected a text"));
            }
            *known.entry((row.db_id.clone(), plain(&row.gold))).or_default() += 1;
            let DatabaseQuestion { db_id, question, gold: sql } = row;
            let question = Some(question);
            training.documents.push(ExampleDocument { id: format!("{name}-{at:05}"), db_id, question, sql });
        }
    }
    let Some(gold) = gold else { return Ok(training) };
    let text = fs::read_to_string(gold).map_err(Error::io("read", gold))?;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || (at + 1).to_string();
        let (sql, db_id) = line
            .trim()
            .rsplit_once('\t')
            .ok_or_else(|| Error::at(gold, place(), "there is no tab, expected `SQL TAB db_id`"))?;
        check(gold, place, db_id, sql, catalogs)?;
        if let Some(count) = known.get_mut(&(db_id.to_owned(), plain(sql))).filter(|count| **count > 0) {
            *count -= 1;
            training.repeated += 1;
            continue;
        }
        let (db_id, sql) = (db_id.trim().to_owned(), sql.trim().to_owned());
        training.documents.push(ExampleDocument { id: format!("gold-{at:05}"), db_id, question: None, sql });
    }
    Ok(training)
}

/// Reads `dev.json`: a list of `db_id`, `question` and `query`.
///
/// # Errors
///
/// With file and entry, as [`training`] has them.
pub fn asked(path: &Path, catalogs: &Catalogs) -> Result<Vec<DatabaseQuestion>> {
    let rows = rows(path)?;
    for (at, row) in rows.iter().enumerate() {
        check(path, || format!("entry {at}"), &row.db_id, &row.gold, catalogs)?;
    }
    Ok(rows)
}

fn rows(path: &Path) -> Result<Vec<DatabaseQuestion>> {
    let hint = "a list of objects with `db_id`, `question` or `SpiderQuestion`, and `query` is expected";
    read_json(path).map_err(|error| error.with_hint(hint))
}

fn check(path: &Path, place: impl Fn() -> String, db_id: &str, sql: &str, catalogs: &Catalogs) -> Result<()> {
    if sql.trim().is_empty() {
        return Err(Error::at(path, place(), "the query is empty, expected SQL"));
    }
    catalogs
        .get(db_id.trim())
        .map(|_| ())
        .map_err(|error| Error::at(path, place(), error.to_string()).with_hint_if(error.hint()))
}

/// A query without case, white space and `;`.
pub(crate) fn plain(sql: &str) -> String {
    sql.to_lowercase().replace(';', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
