//! Spider's questions judged: exact match of all, execution of those whose database is there, and both in a word.

use wb_core::{Progress, records::sql::PredictionStatus};

use super::{SendProgress, exact::ExactVerdict, status::status};
use crate::{
    Compat, Result,
    execute::{DatabaseSource, ExecutionJudge, Judgement, QueryPair, prediction_of_line},
    spider::DatabaseSchema,
};

/// Message of a question whose database is not there.
pub(super) const NO_DATABASE: &str = "no database";

/// A prediction beside its gold query.
pub struct PredictedQuery<'a> {
    /// The right query.
    pub gold: &'a str,
    /// The predicted one, as a line of a file of predictions has it.
    pub line: &'a str,
    /// Schema that both are read with.
    pub schema: &'a DatabaseSchema,
    /// Databases on which both run; none where the database is not there.
    pub sources: Vec<DatabaseSource>,
}

/// Verdicts on a prediction.
pub struct JudgedPrediction {
    /// Exact match.
    pub exact: ExactVerdict,
    /// Execution; none where the database is not there.
    pub executed: Option<Judgement>,
    /// Both in a word.
    pub status: PredictionStatus,
}

impl JudgedPrediction {
    /// True where execution has it right; none without a verdict.
    pub fn ex(&self) -> Option<bool> {
        self.executed.as_ref().and_then(Judgement::correct)
    }

    /// Words of SQLite or of the worker, or that there is no database.
    pub fn message(&self) -> Option<String> {
        self.executed.as_ref().map_or_else(|| Some(NO_DATABASE.to_owned()), |executed| executed.message.clone())
    }

    /// True where it runs; none without a verdict.
    pub fn runs(&self) -> Option<bool> {
        self.ex().map(|_| matches!(self.status, PredictionStatus::Correct | PredictionStatus::Wrong))
    }
}

/// Judges all of them, in their order.
pub fn judge(
    predicted: &[PredictedQuery<'_>],
    judge: &ExecutionJudge,
    compat: Compat,
    progress: &mut SendProgress<'_>,
) -> Result<Vec<JudgedPrediction>> {
    let queries: Vec<String> = predicted.iter().map(|one| prediction_of_line(one.line, compat)).collect();
    let both = || predicted.iter().zip(&queries);
    let exact: Vec<ExactVerdict> =
        both().map(|(one, sql)| ExactVerdict::of(one.gold, sql, one.schema, compat)).collect();
    let question = |(one, sql): (&PredictedQuery<'_>, &String)| QueryPair {
        gold: one.gold.to_owned(),
        prediction: sql.clone(),
        sources: one.sources.clone(),
    };
    let runs: Vec<QueryPair> = both().filter(|(one, _)| !one.sources.is_empty()).map(question).collect();
    let mut done = |done| progress(Progress::new("running predictions", done, runs.len()));
    let mut judgements = judge.judge(&runs, &mut done)?.into_iter();
    let judged = predicted.iter().zip(exact).map(|(one, exact)| {
        let executed = if one.sources.is_empty() { None } else { judgements.next() };
        let status = status(executed.as_ref(), exact.em(), exact.parsed);
        JudgedPrediction { exact, executed, status }
    });
    Ok(judged.collect())
}

/// Their words, in order.
pub fn statuses(judged: &[JudgedPrediction]) -> Vec<PredictionStatus> {
    judged.iter().map(|one| one.status).collect()
}
