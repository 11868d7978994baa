//! Files of the examples of a text-to-SQL data set, and pairs of them to train a retriever with.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Origin, Pair, Task, remote};

use super::{ExampleDocument, TextFormat, TrainingExamples, synthetic_rows, training};
use crate::{Error, Result, schema::Catalogs};

/// The files of a training split, in the folder of the data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingFiles {
    /// JSON lists of `db_id`, `question` and `query`, or rows of synthetic_text_to_sql (JSON or Parquet).
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub questions: Vec<PathBuf>,
    /// `SQL TAB db_id` lines: queries that the lists do not have become examples without a question.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub gold: Option<PathBuf>,
}

impl Default for TrainingFiles {
    fn default() -> Self {
        Self { questions: vec!["train_spider.json".into(), "train_others.json".into()], gold: None }
    }
}

impl TrainingFiles {
    /// Refuses a split without a file.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.questions.is_empty() {
            return Err(Error::value(format!("{key}.questions"), "is empty, expected one file at least"));
        }
        Ok(())
    }

    /// All files, as paths from here.
    pub fn within(&self, folder: &Path) -> impl Iterator<Item = PathBuf> {
        self.questions.iter().chain(&self.gold).map(|file| folder.join(file))
    }

    /// Reads the examples.
    ///
    /// # Errors
    ///
    /// As [`training`] has them.
    pub fn read(&self, folder: &Path, catalogs: &mut Catalogs) -> Result<TrainingExamples> {
        let questions: Vec<PathBuf> = self.questions.iter().map(|file| folder.join(file)).collect();
        training(&questions, self.gold.as_ref().map(|file| folder.join(file)).as_deref(), catalogs)
    }
}

/// A source of training pairs: each question of a training split with the text of its query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExamplesConfig {
    /// The folder of the data set, with `tables.json`; or a file of rows (`.parquet`, `.jsonl`, `.json`) with
    /// `sql_prompt`, `sql_context` and `sql`, for which there is no `training` and no `form`.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: PathBuf,
    /// The files of its training split, as in `rag`.
    #[serde(default)]
    pub training: TrainingFiles,
    /// Parts of the query that the positive has, with the keys of `rag.documents`; `{ context: false, sql: false,
    /// form: true }` brings questions together whose queries have the same form.
    #[serde(default)]
    pub positive: TextFormat,
    /// The data set's name, for batches and curricula.
    #[serde(default)]
    pub dataset: String,
}

impl ExamplesConfig {
    /// Refuses impossible values.
    ///
    /// # Errors
    ///
    /// If there is no file, or a positive says nothing, or says what rows do not have.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let is_rows = synthetic_rows::is_rows(&self.path);
        if is_rows && self.training != TrainingFiles::default() {
            let message = "names files of a folder, but `path` is a file of rows";
            return Err(Error::value(format!("{key}.training"), message));
        }
        if is_rows && self.positive.form {
            let message = "got true, but a file of rows has no schemas to read queries with, expected false";
            return Err(Error::value(format!("{key}.positive.form"), message));
        }
        self.training.validate(&format!("{key}.training"))?;
        self.positive.validate(&format!("{key}.positive"))
    }

    /// All files that the pairs are made of.
    pub fn files(&self) -> Vec<PathBuf> {
        match synthetic_rows::is_rows(&self.path) {
            true => vec![self.path.clone()],
            false => std::iter::once(self.path.join("tables.json")).chain(self.training.within(&self.path)).collect(),
        }
    }

    /// The pairs, in the order of the files; the database is the group that a split keeps together. Examples without a
    /// question are left out; the second number says how many.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or an example's database has no schema.
    pub fn pairs(&self) -> Result<(Vec<Pair>, u64)> {
        if synthetic_rows::is_rows(&self.path) {
            return Ok((synthetic_rows::pairs(&remote::local(&self.path)?, &self.positive)?, 0));
        }
        let folder = remote::local(&self.path)?;
        let mut catalogs = Catalogs::load(&folder.join("tables.json"))?;
        let examples = self.training.read(&folder, &mut catalogs)?.documents;
        let with = examples.iter().filter(|one| one.question.is_some());
        let pairs: Vec<Pair> = with.map(|one| self.pair(one, &catalogs)).collect::<Result<_>>()?;
        if pairs.is_empty() {
            let place = self.training.questions.first().map(|file| self.path.join(file)).unwrap_or_default();
            return Err(Error::file(&place, "there is no question, expected examples to train with"));
        }
        let without = (examples.len() - pairs.len()) as u64;
        Ok((pairs, without))
    }

    fn pair(&self, example: &ExampleDocument, catalogs: &Catalogs) -> Result<Pair> {
        Ok(Pair {
            id: example.id.clone(),
            task: Task::Text2code,
            language: "sql".to_owned(),
            anchor: example.question.clone().unwrap_or_default(),
            positive: self.positive.document(example, catalogs)?,
            origin: Origin { group: example.db_id.clone(), path: self.file_of(example), ..Origin::default() },
            ..Pair::default()
        })
    }

    /// The file that an example with a question stands in, by its id.
    fn file_of(&self, example: &ExampleDocument) -> String {
        let number = example.id.strip_prefix("train").and_then(|rest| rest.split('-').next()).unwrap_or_default();
        let at = number.parse::<usize>().map_or(0, |number| number.saturating_sub(1));
        let file = self.training.questions.get(at);
        file.map(|file| file.to_string_lossy().replace('\\', "/")).unwrap_or_default()
    }
}
