//! Spider's questions judged: exact match of all, execution of those whose database is there, and both in a word.

use anyhow::Result;
use wb_core::Progress;
use wb_sql::{
    Compat,
    execute::{Judge, Judgement, Question, Source},
    spider::Schema,
};

use super::{exact::Exact, status::Status};
use crate::output::Bars;

/// A prediction beside its gold query.
pub struct Predicted<'a> {
    /// The right query.
    pub gold: &'a str,
    /// The predicted one.
    pub sql: &'a str,
    /// What both are read with.
    pub schema: &'a Schema,
    /// Where both run; none where the database is not there.
    pub sources: Vec<Source>,
}

/// What became of a prediction.
pub struct Judged {
    /// Exact match.
    pub exact: Exact,
    /// Execution; none where the database is not there.
    pub executed: Option<Judgement>,
    /// Both in a word.
    pub status: Status,
}

impl Judged {
    /// Whether execution has it right; none without a verdict.
    pub fn ex(&self) -> Option<bool> {
        self.executed.as_ref().and_then(Judgement::correct)
    }

    /// Whether it runs; none without a verdict.
    pub fn runs(&self) -> Option<bool> {
        self.ex().map(|_| matches!(self.status, Status::Correct | Status::Wrong))
    }
}

/// Judges all of them, in their order.
pub fn judge(predicted: &[Predicted<'_>], judge: &Judge, compat: Compat, bars: &mut Bars) -> Result<Vec<Judged>> {
    let exact: Vec<Exact> = predicted.iter().map(|one| Exact::of(one.gold, one.sql, one.schema, compat)).collect();
    let question = |one: &Predicted<'_>| Question {
        gold: one.gold.to_owned(),
        prediction: one.sql.to_owned(),
        sources: one.sources.clone(),
    };
    let there = |one: &&Predicted<'_>| !one.sources.is_empty();
    let runs: Vec<Question> = predicted.iter().filter(there).map(question).collect();
    let mut done = |done| bars.report(Progress::new("running predictions", done, runs.len()));
    let mut judgements = judge.judge(&runs, &mut done)?.into_iter();
    let judged = predicted.iter().zip(exact).map(|(one, exact)| {
        let executed = if one.sources.is_empty() { None } else { judgements.next() };
        let status = Status::of(executed.as_ref(), exact.em(), exact.parsed);
        Judged { exact, executed, status }
    });
    Ok(judged.collect())
}

/// Their words, in order.
pub fn statuses(judged: &[Judged]) -> Vec<Status> {
    judged.iter().map(|one| one.status).collect()
}
