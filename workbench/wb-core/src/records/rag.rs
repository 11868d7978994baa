//! `rag.json`: text-to-SQL with and without retrieved examples, arm by arm and question by question.

use serde::{Deserialize, Serialize};

use crate::statistics::Interval;

/// Results of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rag {
    /// The experiment's name.
    pub name: String,
    /// Names of the protocols of exact match and of execution.
    pub protocols: [String; 2],
    /// Sentences on what was measured: generator, documents, databases.
    pub facts: Vec<String>,
    /// Number of examples that are retrieved for a question.
    pub top_k: usize,
    /// The first is without retrieval.
    pub arms: Vec<RagArm>,
    /// Each arm against each before it, exact match and execution.
    pub pairs: Vec<RagPair>,
    /// Every question, in the order of the file.
    pub questions: Vec<RagQuestion>,
}

/// One arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RagArm {
    /// Its name: `without`, `bm25`, an encoder's.
    pub name: String,
    /// Description of all that decides its rankings; none without retrieval.
    pub retriever: Option<String>,
    /// Exact match.
    pub em: RagShare,
    /// Execution, of the questions whose gold query runs on a database that is there.
    pub ex: RagShare,
    /// Predictions that Spider's grammar reads.
    pub parsed: RagShare,
    /// Predictions that run, of the questions whose database is there.
    pub valid: RagShare,
    /// Figures by hardness.
    pub levels: Vec<RagLevel>,
    /// The share of gold's tables that the prediction names.
    pub table_recall: f64,
    /// The share of gold's columns that the prediction names.
    pub column_recall: f64,
    /// Forms of the retrieved queries; none without retrieval.
    pub forms: Option<RagForms>,
    /// Retrieved examples of the question's own database that were taken out.
    pub leaks_removed: u64,
    /// Questions with fewer examples than wanted.
    pub short: u64,
    /// Questions without a prediction.
    pub without_prediction: u64,
    /// Cost of a language model; none for the nearest example's rules.
    pub cost: Option<RagCost>,
}

/// A share of questions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RagShare {
    /// Right ones.
    pub right: u64,
    /// Number of those that have a verdict.
    pub of: u64,
    /// The share; 0 of none.
    pub value: f64,
    /// Wilson's 95 % interval.
    #[serde(flatten)]
    pub interval: Interval,
}

/// The questions of one hardness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RagLevel {
    /// `easy`, `medium`, `hard`, `extra`.
    pub hardness: String,
    /// Exact match.
    pub em: RagShare,
    /// Execution.
    pub ex: RagShare,
}

/// Likeness of retrieved queries with the gold query, names and values blanked; means over the questions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RagForms {
    /// F1 of the first one's components.
    pub f1_at_1: f64,
    /// The best of the first three.
    pub f1_at_3: f64,
    /// Share of questions whose first example has the very same skeleton.
    pub exact_at_1: f64,
    /// Share of questions of whose first three examples one has.
    pub exact_at_3: f64,
}

/// Cost of a language model for an arm. Tokens are none where an answer's were not counted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RagCost {
    /// Questions to the model, repairs included.
    pub asked: u64,
    /// Number of those that were given up.
    pub rejected: u64,
    /// Tokens of prompts.
    pub prompt_tokens: Option<u64>,
    /// Tokens of answers.
    pub completion_tokens: Option<u64>,
    /// Median time of an answer in milliseconds; none where no answer's is known.
    pub latency_median_ms: Option<f64>,
    /// The time within which 95 of 100 answers came.
    pub latency_p95_ms: Option<f64>,
    /// Queries that were asked for again because they did not run.
    pub repairs: u64,
    /// Number of those that run then.
    pub repaired: u64,
}

/// Two arms on the same questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RagPair {
    /// `em` or `ex`.
    pub metric: String,
    /// The arm that comes first.
    pub first: String,
    /// The other one.
    pub second: String,
    /// Questions that only the first has right.
    pub only_first: u64,
    /// Questions that only the second has right.
    pub only_second: u64,
    /// Two-sided, of McNemar's exact test.
    pub p_value: f64,
    /// Second less first.
    pub difference: f64,
    /// 95 % paired bootstrap interval of the difference.
    #[serde(flatten)]
    pub interval: Interval,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RagQuestion {
    /// Its place in the file, from 0.
    pub index: usize,
    /// Its database.
    pub db_id: String,
    /// Its text.
    pub question: String,
    /// The right query.
    pub gold: String,
    /// None where Spider's grammar does not read the gold query.
    pub hardness: Option<String>,
    /// One an arm, in their order.
    pub arms: Vec<RagAnswer>,
}

/// Prediction of an arm for a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RagAnswer {
    /// The prediction; empty where there is none.
    pub sql: String,
    /// Reason for its absence, or what was said of it.
    pub message: Option<String>,
    /// Exact match.
    pub em: bool,
    /// Execution; none without a verdict.
    pub ex: Option<bool>,
    /// `correct`, `wrong`, `parse_error`, `sql_error`, `timeout`, `refused`.
    pub status: String,
    /// Examples that were retrieved, best first.
    pub examples: Vec<RagExample>,
}

/// A retrieved example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RagExample {
    /// The document's id.
    pub id: String,
    /// Its score.
    pub score: f32,
    /// Its database.
    pub db_id: String,
    /// Its question; none for a query without one.
    pub question: Option<String>,
    /// Its query.
    pub sql: String,
}
