//! The judge of execution accuracy: gold and prediction run on every database of a question, results compared.
//!
//! After `eval_exec_match` of test-suite-sql-eval (Zhong et al. 2020).

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{
    DatabaseSource, Equality, Execution, Result, ResultTable, Seat, StatementOutcome, WorkerPool,
    equality::compare_until, memory::Memory, now, plug, python::is_space, texts,
};
use crate::Compat;

/// Rules of judging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JudgeOptions {
    /// Quirks, or what was meant.
    pub compat: Compat,
    /// Also try the gold query's values in the place of the prediction's.
    pub plug_value: bool,
    /// Leave `DISTINCT` where it is; always so under [`Compat::Strict`].
    pub keep_distinct: bool,
}

impl JudgeOptions {
    /// True where `DISTINCT` stays: where that was asked for, and always under [`Compat::Strict`].
    pub fn keeps_distinct(self) -> bool {
        self.keep_distinct || self.compat == Compat::Strict
    }
}

/// A question to judge: two queries and the databases on which they must agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPair {
    /// The right query.
    pub gold: String,
    /// The predicted query; for Spider's files see [`prediction_of_line`](super::prediction_of_line).
    pub prediction: String,
    /// Databases on which both run.
    pub sources: Vec<DatabaseSource>,
}

/// Status of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its results are those of the gold query on every database.
    Correct,
    /// Other results than those of the gold query on one database at least.
    Wrong,
    /// SQLite cannot run it.
    SqlError,
    /// Query that did not end in time, or its result could not be compared in time.
    Timeout,
    /// Text that is no query, or asks for what is not allowed, or for too much.
    Refused,
}

/// The verdict on one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Status of the prediction; `None` where the gold query could not be run or there is no database.
    pub status: Option<Status>,
    /// Words of SQLite or of the worker, of the prediction or of the gold query.
    pub message: Option<String>,
}

impl Judgement {
    /// True where the prediction counts as right; `None` without a verdict.
    pub fn correct(&self) -> Option<bool> {
        self.status.map(|status| status == Status::Correct)
    }
}

/// A pool and how to judge with it.
#[derive(Debug, Clone)]
pub struct ExecutionJudge {
    pool: WorkerPool,
    options: JudgeOptions,
}

/// After so many plugged predictions that ran out of time, no more are tried.
const MOST_TIMEOUTS: usize = 3;
/// Most questions that are handed to a worker together.
const MOST_TOGETHER: usize = 16;

impl ExecutionJudge {
    /// A judge that runs statements on this pool.
    pub fn new(pool: WorkerPool, options: JudgeOptions) -> ExecutionJudge {
        ExecutionJudge { pool, options }
    }

    /// Judges all questions, on all workers of the pool; the verdicts are in the order of the questions and do not
    /// depend on the number of workers. `done` is told how many are finished.
    ///
    /// # Errors
    ///
    /// If no worker can be started.
    pub fn judge(&self, questions: &[QueryPair], done: &mut (dyn FnMut(usize) + Send)) -> Result<Vec<Judgement>> {
        let together = (questions.len() / (4 * self.pool.workers())).clamp(1, MOST_TOGETHER);
        let parts: Vec<&[QueryPair]> = questions.chunks(together).collect();
        let work = |seat: &mut Seat<'_>, memory: &mut Memory, part: &&[QueryPair]| self.part(seat, memory, part);
        let mut done = |parts: usize| done((parts * together).min(questions.len()));
        Ok(self.pool.each(&parts, work, &mut done)?.into_iter().flatten().collect())
    }

    /// Judges some questions: first all statements that will be needed are run, then their results are looked at.
    fn part(&self, seat: &mut Seat<'_>, memory: &mut Memory, part: &[QueryPair]) -> Result<Vec<Judgement>> {
        let prepared: Vec<Result<Prepared, Judgement>> = part.iter().map(|question| self.prepare(question)).collect();
        let pairs = part.iter().zip(&prepared).filter_map(|(question, prepared)| {
            let (source, prepared) = (question.sources.first()?, prepared.as_ref().ok()?);
            Some((source, prepared.gold_runs.as_str(), prepared.prediction_runs.as_str()))
        });
        memory.run_ahead(seat, pairs)?;
        let judged = part.iter().zip(&prepared).map(|(question, prepared)| self.one(seat, memory, question, prepared));
        judged.collect()
    }

    fn one(
        &self,
        seat: &mut Seat<'_>,
        memory: &mut Memory,
        question: &QueryPair,
        prepared: &Result<Prepared, Judgement>,
    ) -> Result<Judgement> {
        if question.sources.is_empty() {
            return Ok(Judgement { status: None, message: Some("no database".to_owned()) });
        }
        let Prepared { gold, prediction, gold_runs, prediction_runs, order_matters } = match prepared {
            Ok(prepared) => prepared,
            Err(judgement) => return Ok(judgement.clone()),
        };
        let (order_matters, compat) = (*order_matters, self.options.compat);
        let mut trial = Trial { seat, memory, question, gold: gold_runs, order_matters, compat };
        let first = trial.run(prediction_runs)?;
        if !self.options.plug_value || first.status.is_none_or(|status| status == Status::Correct) {
            return Ok(first);
        }
        // Where nothing helps, the prediction as it was says why. What keeps running out of time is given up.
        let mut timeouts = 0;
        for plugged in plug::combinations(gold, prediction) {
            let judgement = trial.run(&self.run_text(&plugged))?;
            if judgement.status == Some(Status::Correct) {
                return Ok(judgement);
            }
            timeouts += usize::from(judgement.status == Some(Status::Timeout));
            if timeouts >= MOST_TIMEOUTS {
                break;
            }
        }
        Ok(first)
    }

    /// The texts of a question as they are run, or the judgement where one has no statement. For a gold query without
    /// one nobody can be blamed but the data: there is no verdict.
    fn prepare(&self, question: &QueryPair) -> Result<Prepared, Judgement> {
        let nothing = |whose: &str| Some(format!("{whose}there is no statement"));
        let gold = self.prepared(&question.gold).filter(|gold| !texts::is_blank(gold));
        let gold = gold.ok_or_else(|| Judgement { status: None, message: nothing("gold: ") })?;
        let prediction = self.prepared(&question.prediction);
        let prediction =
            prediction.ok_or_else(|| Judgement { status: Some(Status::SqlError), message: nothing("") })?;
        let (gold_runs, prediction_runs) = (self.run_text(&gold), self.run_text(&prediction));
        let order_matters = texts::order_matters(&gold, self.options.compat);
        Ok(Prepared { gold, prediction, gold_runs, prediction_runs, order_matters })
    }

    /// A prepared text with its times of day as they are run.
    fn run_text(&self, prepared: &str) -> String {
        let text = texts::with_current_year(prepared, self.options.compat);
        if self.options.compat == Compat::Strict { now::pinned(&text) } else { text.into_owned() }
    }

    /// The text that is run, but for its times of day.
    fn prepared(&self, text: &str) -> Option<String> {
        let repaired = texts::repaired(text, self.options.compat);
        match self.options {
            // Python says of a text without a statement that it has no rows, which would equal other empty results.
            JudgeOptions { compat: Compat::Strict, .. } => (!texts::is_blank(&repaired)).then_some(repaired),
            // An empty line of its file ends a session for the evaluator, which then stops: it is no prediction that
            // could be right, although what it runs answers an empty text with no rows.
            JudgeOptions { keep_distinct: true, .. } => {
                (!repaired.trim_matches(is_space).is_empty()).then_some(repaired)
            }
            _ => texts::without_distinct(&repaired),
        }
    }
}

/// A question's texts, repaired, and as they are run.
struct Prepared {
    gold: String,
    prediction: String,
    gold_runs: String,
    prediction_runs: String,
    order_matters: bool,
}

/// One question's gold query, against which predictions are tried.
struct Trial<'a, 'b> {
    seat: &'a mut Seat<'b>,
    memory: &'a mut Memory,
    question: &'a QueryPair,
    gold: &'a str,
    order_matters: bool,
    compat: Compat,
}

impl Trial<'_, '_> {
    /// The verdict on a text: the first database on which it is not right decides.
    fn run(&mut self, prediction: &str) -> Result<Judgement> {
        for source in &self.question.sources {
            let gold = self.memory.gold(self.seat, source, self.gold)?;
            if let Some(message) = failure_of_gold(&gold) {
                return Ok(Judgement { status: None, message: Some(message) });
            }
            // The same text has the same result: nothing that is let through answers differently the second time.
            if prediction == self.gold {
                continue;
            }
            let execution = self.memory.prediction(self.seat, source, prediction, gold.table.len())?;
            let within = self.seat.limits().timeout;
            let judgement = verdict(&gold.table, &execution, self.order_matters, self.compat, within);
            if judgement.status != Some(Status::Correct) {
                return Ok(judgement);
            }
        }
        Ok(Judgement { status: Some(Status::Correct), message: None })
    }
}

fn verdict(
    gold: &ResultTable,
    execution: &Execution,
    order_matters: bool,
    compat: Compat,
    within: Duration,
) -> Judgement {
    let deadline = Some(Instant::now() + within);
    let (status, message) = match &execution.outcome {
        StatementOutcome::Done if execution.truncated => (Status::Wrong, None),
        StatementOutcome::Done => match compare_until(gold, &execution.table, order_matters, compat, deadline) {
            Equality::Equal => (Status::Correct, None),
            Equality::Different => (Status::Wrong, None),
            Equality::Undecided => (Status::Timeout, Some("no matching of columns was found in time".to_owned())),
        },
        StatementOutcome::SqlError(message) => (Status::SqlError, Some(message.clone())),
        StatementOutcome::SetupFailed(message) => (Status::SqlError, Some(format!("database: {message}"))),
        StatementOutcome::Timeout => (Status::Timeout, None),
        StatementOutcome::Refused(message) => (Status::Refused, Some(message.clone())),
    };
    Judgement { status: Some(status), message }
}

/// Fault of a gold query that gave no complete result.
fn failure_of_gold(gold: &Execution) -> Option<String> {
    match &gold.outcome {
        StatementOutcome::Done if gold.truncated => Some(format!("gold: more than {} rows", gold.table.len())),
        StatementOutcome::Done => None,
        StatementOutcome::SqlError(message) => Some(format!("gold: {message}")),
        StatementOutcome::SetupFailed(message) => Some(format!("database: {message}")),
        StatementOutcome::Timeout => Some("gold: timeout".to_owned()),
        StatementOutcome::Refused(message) => Some(format!("gold: refused: {message}")),
    }
}
