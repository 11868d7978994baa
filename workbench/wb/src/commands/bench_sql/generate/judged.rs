//! What an arm's queries are worth: exact match, execution, and whether they run at all.

use anyhow::{Context, Result};
use wb_core::Progress;
use wb_sql::execute::{Judge, JudgeOptions, Judgement, Pool, Question};

use super::{
    super::{exact::Exact, status::Status},
    answers::Answered,
    inputs::Inputs,
};
use crate::{config::RagConfig, output::Bars};

/// What became of one query.
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

/// Judges the queries of an arm.
pub fn judge(
    config: &RagConfig,
    inputs: &Inputs,
    answered: &[Answered],
    pool: &Pool,
    bars: &mut Bars,
) -> Result<Vec<Judged>> {
    let exact = |(at, answered): (usize, &Answered)| {
        let asked = &inputs.asked[at];
        let schema = &inputs.catalogs.get(&asked.db_id)?.schema;
        Ok(Exact::of(&asked.gold, &answered.sql, schema, config.compat))
    };
    let exact = answered.iter().enumerate().map(exact).collect::<Result<Vec<_>>>()?;
    let there: Vec<usize> = (0..answered.len()).filter(|&at| inputs.source(at).is_some()).collect();
    let question = |&at: &usize| Question {
        gold: inputs.asked[at].gold.clone(),
        prediction: answered[at].sql.clone(),
        sources: inputs.databases.sources(&inputs.asked[at].db_id),
    };
    let questions: Vec<Question> = there.iter().map(question).collect();
    let options = JudgeOptions { compat: config.compat, ..JudgeOptions::default() };
    let mut done = |done| bars.report(Progress::new("running predictions", done, questions.len()));
    let judgements = Judge::new(pool.clone(), options).judge(&questions, &mut done).context("cannot judge")?;
    let mut executed: Vec<Option<Judgement>> = vec![None; answered.len()];
    for (at, judgement) in there.into_iter().zip(judgements) {
        executed[at] = Some(judgement);
    }
    let judged = exact.into_iter().zip(executed).map(|(exact, executed)| {
        let status = Status::of(executed.as_ref(), exact.em(), exact.parsed);
        Judged { exact, executed, status }
    });
    Ok(judged.collect())
}
