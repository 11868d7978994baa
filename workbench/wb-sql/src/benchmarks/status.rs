//! One word on each prediction, of what execution and exact match say.

use crate::execute::{Judgement, Status as Executed};
use serde::{Deserialize, Serialize};

/// What became of a prediction.
///
/// Execution decides where there is a verdict of it: a prediction that the grammar of exact match cannot read, and that
/// has the right rows, is `correct`. `parse_error` is what neither the grammar nor SQLite can read; what SQLite reads
/// and cannot run (a column that is not there) is `sql_error`. Without a verdict of execution, exact match decides:
/// `correct`, `parse_error` where the grammar cannot read the prediction, else `wrong`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictionStatus {
    /// The same rows as the gold query's.
    Correct,
    /// Other rows.
    Wrong,
    /// It is not SQL.
    ParseError,
    /// SQLite cannot run it.
    SqlError,
    /// It took too long.
    Timeout,
    /// It may not run, or asks for too much.
    Refused,
}

impl PredictionStatus {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Correct, "correct"),
        (Self::Wrong, "wrong"),
        (Self::ParseError, "parse_error"),
        (Self::SqlError, "sql_error"),
        (Self::Timeout, "timeout"),
        (Self::Refused, "refused"),
    ];

    /// As in files and tables.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("", |(_, name)| name)
    }

    /// Of a verdict of execution and, where there is one, of exact match.
    pub fn of(executed: Option<&Judgement>, em: bool, parsed: bool) -> PredictionStatus {
        let verdict = executed.and_then(|judgement| Some((judgement.status?, judgement.message.as_deref())));
        match verdict {
            Some((Executed::SqlError, message)) if !parsed && message.is_some_and(is_no_sql) => Self::ParseError,
            Some((status, _)) => status.into(),
            None if em => Self::Correct,
            None if !parsed => Self::ParseError,
            None => Self::Wrong,
        }
    }
}

impl From<Executed> for PredictionStatus {
    fn from(status: Executed) -> Self {
        match status {
            Executed::Correct => Self::Correct,
            Executed::Wrong => Self::Wrong,
            Executed::SqlError => Self::SqlError,
            Executed::Timeout => Self::Timeout,
            Executed::Refused => Self::Refused,
        }
    }
}

/// Whether SQLite's own parser could not read the text.
pub fn is_no_sql(message: &str) -> bool {
    ["syntax error", "incomplete input", "unrecognized token", "there is no statement"]
        .iter()
        .any(|said| message.contains(said))
}

/// `status      correct 3, wrong 1, ...`
pub fn line(all: &[PredictionStatus]) -> String {
    format!("status      {}", counts(all).map(|(name, count)| format!("{name} {count}")).join(", "))
}

/// Counts by name, for the record.
pub fn json(all: &[PredictionStatus]) -> serde_json::Value {
    let counts = counts(all).map(|(name, count)| (name.to_owned(), count.into()));
    serde_json::Value::Object(counts.into_iter().collect())
}

fn counts(all: &[PredictionStatus]) -> [(&'static str, usize); PredictionStatus::ALL.len()] {
    PredictionStatus::ALL.map(|(status, name)| (name, all.iter().filter(|one| **one == status).count()))
}
