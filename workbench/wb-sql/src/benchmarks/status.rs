//! One word on each prediction, of what execution and exact match say.

use indexmap::IndexMap;
use wb_core::records::sql::PredictionStatus;

use crate::execute::{Judgement, Status as Executed};

/// Status by a verdict of execution and, where there is one, of exact match.
pub fn status(executed: Option<&Judgement>, em: bool, parsed: bool) -> PredictionStatus {
    let verdict = executed.and_then(|judgement| Some((judgement.status?, judgement.message.as_deref())));
    match verdict {
        Some((Executed::SqlError, message)) if !parsed && message.is_some_and(is_no_sql) => {
            PredictionStatus::ParseError
        }
        Some((status, _)) => status.into(),
        None if em => PredictionStatus::Correct,
        None if !parsed => PredictionStatus::ParseError,
        None => PredictionStatus::Wrong,
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

/// True where SQLite's own parser could not read the text.
pub fn is_no_sql(message: &str) -> bool {
    ["syntax error", "incomplete input", "unrecognized token", "there is no statement"]
        .iter()
        .any(|said| message.contains(said))
}

/// `status      correct 3, wrong 1, ...`
pub fn line(all: &[PredictionStatus]) -> String {
    let counts: Vec<String> = counts(all).iter().map(|(status, count)| format!("{} {count}", status.name())).collect();
    format!("status      {}", counts.join(", "))
}

/// Number of predictions with each status, in the order of [`PredictionStatus::ALL`].
pub(super) fn counts(all: &[PredictionStatus]) -> IndexMap<PredictionStatus, usize> {
    let count = |status| all.iter().filter(|one| **one == status).count();
    PredictionStatus::ALL.into_iter().map(|status| (status, count(status))).collect()
}
