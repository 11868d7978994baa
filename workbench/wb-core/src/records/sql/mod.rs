//! Record that `--json` of `wb bench spider`, `bird` and `synthetic-sql` writes: figures by level, and every question.

mod words;

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

pub use self::words::{PredictionStatus, QueryComponent, QueryHardness};
use crate::fingerprint::Fingerprint;

/// Verdicts of one benchmark on one file of predictions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SqlRecord {
    /// Name of the benchmark: `spider`, `bird`, `synthetic-sql`.
    pub benchmark: &'static str,
    /// Version of `wb`.
    pub wb: &'static str,
    /// Protocol of each metric.
    pub protocol: IndexMap<String, String>,
    /// Rules that the verdicts follow, for Spider: `official` or `strict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<&'static str>,
    /// Settings of the judge.
    pub options: SqlOptions,
    /// Sentence on what the figures compare with, for Spider and BIRD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparable: Option<&'static str>,
    /// Files that were read.
    pub inputs: SqlInputs,
    /// Databases that the queries ran on, for Spider and BIRD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub databases: Option<SqlDatabases>,
    /// Figures by hardness, difficulty or complexity, then over all questions.
    pub totals: IndexMap<String, SqlLevel>,
    /// Figures of the clauses by hardness, then over all questions, for Spider.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub clauses: IndexMap<String, Vec<ClauseFigures>>,
    /// Figures by domain, then over all rows, for synthetic_text_to_sql.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub domains: IndexMap<String, SqlLevel>,
    /// Number of predictions with each status.
    pub statuses: IndexMap<PredictionStatus, usize>,
    /// Numbers of questions with a fault.
    pub counts: SqlCounts,
    /// Verdicts in the order of the questions.
    pub questions: Vec<SqlVerdict>,
}

/// Settings of the judge.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct SqlOptions {
    /// True where values of the gold query replace those of the prediction, for Spider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plug_value: Option<bool>,
    /// True where DISTINCT stays in both queries, for Spider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_distinct: Option<bool>,
    /// Seconds that a statement may take.
    pub timeout_seconds: f64,
    /// Times that each right query is measured for R-VES, for BIRD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<usize>,
    /// Number of workers, which the times depend on, for BIRD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
}

/// Numbers of questions with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SqlCounts {
    /// Number of questions.
    pub questions: usize,
    /// Questions whose database is not there, for Spider and BIRD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_database: Option<usize>,
    /// Rows whose statements SQLite cannot run, for synthetic_text_to_sql.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_failed: Option<usize>,
    /// Gold queries that the grammar does not read, for Spider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gold_unread: Option<usize>,
    /// Gold queries that cannot be run.
    pub gold_failed: usize,
    /// Verdicts at which the published evaluator stops with an exception, for Spider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raises: Option<usize>,
    /// Predictions with a tab inside, judged up to it, for Spider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_at_tab: Option<usize>,
}

/// Verdict on one question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SqlVerdict {
    /// Exact match and execution.
    Spider(SpiderVerdict),
    /// EX, Soft-F1 and R-VES.
    Bird(BirdQuestionVerdict),
    /// Execution in a database made for the row.
    SyntheticSql(SyntheticSqlVerdict),
}

/// Verdict on one question of Spider.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpiderVerdict {
    /// Place in the file, from 0.
    pub index: usize,
    /// Database of the question.
    pub db_id: String,
    /// Hardness of the gold query; none where the grammar does not read it.
    pub hardness: Option<QueryHardness>,
    /// Exact match.
    pub em: bool,
    /// Execution; none without a verdict.
    pub ex: Option<bool>,
    /// Both in a word.
    pub status: PredictionStatus,
    /// True where the grammar reads the prediction.
    pub parsed: bool,
    /// The file's own number of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// Sentence of SQLite or of the worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Verdict on one question of BIRD.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BirdQuestionVerdict {
    /// Place in the file, from 0.
    pub index: usize,
    /// The file's own number of the question.
    pub id: Option<Value>,
    /// Database of the question.
    pub db_id: String,
    /// Difficulty that the file gives.
    pub difficulty: Option<String>,
    /// Execution; none where the database is not there.
    pub ex: Option<bool>,
    /// Soft-F1; none where the database is not there.
    pub soft_f1: Option<f64>,
    /// Reward of R-VES; none where no times were measured.
    pub reward: Option<f64>,
    /// The verdict in a word; none where the database is not there.
    pub status: Option<PredictionStatus>,
    /// Sentence of SQLite or of the worker.
    pub message: Option<String>,
}

/// Verdict on one row of synthetic_text_to_sql.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SyntheticSqlVerdict {
    /// Place in the file, from 0.
    pub index: usize,
    /// The file's own number of the row.
    pub id: Option<Value>,
    /// Domain that the file gives.
    pub domain: Option<String>,
    /// Complexity that the file gives.
    pub sql_complexity: Option<String>,
    /// Execution; none without a verdict.
    pub ex: Option<bool>,
    /// The verdict in a word; none without one.
    pub status: Option<PredictionStatus>,
    /// Sentence of SQLite or of the worker.
    pub message: Option<String>,
}

/// Files that the verdicts are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SqlInputs {
    /// Questions with their gold queries.
    pub questions: HashedFile,
    /// Predicted queries.
    pub predictions: HashedFile,
    /// Schemas, for Spider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<HashedFile>,
}

/// A file's name with the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HashedFile {
    /// Name without the folder.
    pub file: String,
    /// BLAKE3 of the bytes.
    pub blake3: Fingerprint,
}

/// Databases of the questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SqlDatabases {
    /// One hash of all.
    pub blake3: Fingerprint,
    /// Files of each database.
    pub ids: BTreeMap<String, Vec<HashedFile>>,
    /// Ids of the databases that are not there.
    pub missing: BTreeSet<String>,
}

/// Figures over the questions of one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SqlLevel {
    /// Number of questions.
    pub questions: usize,
    /// Figure of each metric: `em`, `ex`, `soft_f1`.
    #[serde(flatten)]
    pub metrics: IndexMap<String, LevelFigure>,
}

/// One metric over the questions of one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelFigure {
    /// Mean; none of no questions.
    pub value: Option<f64>,
    /// Number of questions that have one.
    pub of: usize,
    /// Number of those that are right, for metrics that are right or wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<u64>,
}

/// Figures of one component of exact match over the questions of one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClauseFigures {
    /// Component that is compared.
    pub component: QueryComponent,
    /// Share that agrees of the predictions which have the component; 0 where none has.
    pub accuracy: f64,
    /// Share that agrees of the gold queries which have the component; 0 where none has.
    pub recall: f64,
    /// Harmonic mean of both. As published it is 1 where both are 0, so that a component nobody uses counts as right,
    /// and so does one that nobody gets right.
    pub f1: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_keep_the_order_of_their_keys() {
        let file = |name: &str| HashedFile { file: name.to_owned(), blake3: Fingerprint::of_bytes(b"") };
        let figure = LevelFigure { value: Some(0.5), of: 2, right: Some(1) };
        let mean = LevelFigure { value: None, of: 0, right: None };
        let metrics = [("ex".to_owned(), figure), ("soft_f1".to_owned(), mean)].into_iter().collect();
        let record = SqlRecord {
            benchmark: "synthetic-sql",
            wb: "1",
            protocol: [("ex".to_owned(), "synthetic-sql-ex".to_owned())].into(),
            compat: None,
            options: SqlOptions { timeout_seconds: 20.0, ..SqlOptions::default() },
            comparable: None,
            inputs: SqlInputs { questions: file("rows.jsonl"), predictions: file("predicted.sql"), tables: None },
            databases: None,
            totals: [("all".to_owned(), SqlLevel { questions: 2, metrics })].into(),
            clauses: IndexMap::new(),
            domains: [("all".to_owned(), SqlLevel { questions: 0, metrics: IndexMap::new() })].into(),
            statuses: PredictionStatus::ALL.map(|status| (status, 0)).into_iter().take(2).collect(),
            counts: SqlCounts { questions: 2, context_failed: Some(0), ..SqlCounts::default() },
            questions: Vec::new(),
        };
        let written = serde_json::to_string(&record).unwrap();
        let hash = Fingerprint::of_bytes(b"");
        let wanted = format!(
            "{{\"benchmark\":\"synthetic-sql\",\"wb\":\"1\",\"protocol\":{{\"ex\":\"synthetic-sql-ex\"}},\
             \"options\":{{\"timeout_seconds\":20.0}},\"inputs\":{{\"questions\":{{\"file\":\"rows.jsonl\",\
             \"blake3\":\"{hash}\"}},\"predictions\":{{\"file\":\"predicted.sql\",\"blake3\":\"{hash}\"}}}},\
             \"totals\":{{\"all\":{{\"questions\":2,\"ex\":{{\"value\":0.5,\"of\":2,\"right\":1}},\
             \"soft_f1\":{{\"value\":null,\"of\":0}}}}}},\"domains\":{{\"all\":{{\"questions\":0}}}},\
             \"statuses\":{{\"correct\":0,\"wrong\":0}},\
             \"counts\":{{\"questions\":2,\"context_failed\":0,\"gold_failed\":0}},\"questions\":[]}}"
        );
        assert_eq!(written, wanted);
    }
}
