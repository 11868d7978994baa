//! `ab.json`: two ways to embed one corpus on the same queries, query by query, with a paired test and classes of errors.

use serde::{Deserialize, Serialize};

use crate::statistics::Interval;

/// Results of the experiment; pairs are baseline, candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbRecord {
    /// Names of the arms.
    pub arms: [String; 2],
    /// precision@3, precision@5, mrr@5, in this order; the first is what the experiment is about.
    pub metrics: Vec<AbMetric>,
    /// Every query, in their order: what a chart of the experiment shows.
    pub queries: Vec<AbRow>,
    /// Wrong results among the first three by class, in the order of [`ErrorClass::ALL`].
    pub errors: Vec<AbErrors>,
    /// Results among the first five that nobody judged.
    pub unjudged: [u64; 2],
}

/// One metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbMetric {
    /// Its name.
    pub name: String,
    /// Means over the queries.
    pub means: [f64; 2],
    /// Candidate less baseline.
    pub difference: f64,
    /// The difference as a share of the baseline; none where that is 0.
    pub relative: Option<f64>,
    /// 95 % paired bootstrap interval of the difference.
    #[serde(flatten)]
    pub interval: Interval,
    /// Two-sided, of the paired permutation test: exact up to 13 queries that differ.
    pub p_value: f64,
    /// Two-sided, of the paired bootstrap test.
    pub p_bootstrap: f64,
    /// Queries on which the candidate is better, equal, worse.
    pub wins_ties_losses: [u64; 3],
    /// Queries with the greatest value there is, 1.
    pub perfect: [u64; 2],
}

/// One query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbRow {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Useful documents among the first three.
    pub useful: [u64; 2],
    /// precision@3.
    pub precision_3: [f64; 2],
    /// precision@5.
    pub precision_5: [f64; 2],
    /// 1 / rank of the first useful document among the first five.
    pub mrr_5: [f64; 2],
    /// The first five of each arm, best first.
    pub found: [Vec<AbFound>; 2],
}

/// One result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbFound {
    /// The document's id.
    pub id: String,
    /// True where it is of use; nothing where nobody judged it, which counts as of no use.
    pub useful: Option<bool>,
    /// Class of its fault, for those of the first three that are of no use.
    pub class: Option<ErrorClass>,
}

/// One class of errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbErrors {
    /// Class of error.
    pub class: ErrorClass,
    /// Number of results of each arm.
    pub results: [u64; 2],
}

/// Fault of a result that is of no use: the three patterns of failing code search, and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The subject is right, the technique is not there: fraud detection that never oversamples, for a query about SMOTE.
    ThemeWithoutTechnique,
    /// The right library or subject, without the function that was asked for: `partial_fit`.
    MissingFunction,
    /// Words of the query are there, the library is another one: object detection in Keras, for a query about PyTorch.
    KeywordOverReliance,
    /// Nothing of that.
    Other,
}

impl ErrorClass {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 4] =
        [Self::ThemeWithoutTechnique, Self::MissingFunction, Self::KeywordOverReliance, Self::Other];
}
