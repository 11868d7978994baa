//! Exact match of one question, from texts to a verdict.

use crate::{
    Compat,
    exact::{ExactMatch, QueryHardness, compare, hardness},
    spider::{DatabaseSchema, SqlQuery, parse},
};

/// The verdict on a question.
pub struct ExactVerdict {
    /// Told from the gold query; `None` where it cannot be read.
    pub hardness: Option<QueryHardness>,
    /// Parts and whole; `None` where the gold query cannot be read.
    pub verdict: Option<ExactMatch>,
    /// True where the prediction could be read.
    pub parsed: bool,
}

impl ExactVerdict {
    /// Verdict on a prediction as [`prediction_of_line`](crate::execute::prediction_of_line) gives it.
    pub fn of(gold: &str, prediction: &str, schema: &DatabaseSchema, compat: Compat) -> ExactVerdict {
        let predicted = parse(prediction, schema, compat);
        let parsed = predicted.is_ok();
        let Ok(gold) = parse(gold, schema, compat) else {
            return ExactVerdict { hardness: None, verdict: None, parsed };
        };
        // What cannot be read is the empty query, as for the published evaluator.
        let verdict = compare(&gold, &predicted.unwrap_or_else(|_| SqlQuery::default()), schema, compat);
        ExactVerdict { hardness: Some(hardness(&gold)), verdict: Some(verdict), parsed }
    }

    /// True for an exact match.
    pub fn em(&self) -> bool {
        self.verdict.is_some_and(|verdict| verdict.em)
    }
}
