//! BIRD's questions run on a pool of workers.

use super::{reward, same_set, soft_f1};
use crate::execute::{DatabaseSource, Execution, Result, Seat, StatementOutcome, Status, WorkerPool, is_blank};

/// A question: two queries and a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BirdQuestion {
    /// The right query.
    pub gold: String,
    /// The predicted query.
    pub prediction: String,
    /// Database on which both run.
    pub source: DatabaseSource,
}

/// The verdict on a question.
#[derive(Debug, Clone, PartialEq)]
pub struct BirdVerdict {
    /// Status of the prediction by EX; `None` where the gold query could not be run.
    pub status: Option<Status>,
    /// Soft-F1; 0 where either query could not be run.
    pub soft_f1: f64,
    /// The reward of R-VES, if times were measured; 0 where the prediction is not right.
    pub reward: Option<f64>,
    /// Words of SQLite or of the worker.
    pub message: Option<String>,
}

/// Judges all questions; `iterations` times are measured for R-VES (the evaluator takes 100), none for 0.
///
/// Times are those of a worker from the preparation of a statement to its last row. With several workers at once they
/// depend on what else runs; the evaluator has the same weakness. `done` is told how many questions are finished.
///
/// # Errors
///
/// If no worker can be started.
pub fn judge(
    pool: &WorkerPool,
    questions: &[BirdQuestion],
    iterations: usize,
    done: &mut (dyn FnMut(usize) + Send),
) -> Result<Vec<BirdVerdict>> {
    let work = |seat: &mut Seat<'_>, (): &mut (), question: &BirdQuestion| one(seat, question, iterations);
    pool.each(questions, work, done)
}

fn one(seat: &mut Seat<'_>, question: &BirdQuestion, iterations: usize) -> Result<BirdVerdict> {
    let most = seat.limits().max_rows;
    let measured = (iterations > 0).then_some(0.0);
    let verdict = |status, message| BirdVerdict { status, soft_f1: 0.0, reward: measured, message };
    if is_blank(&question.gold) {
        return Ok(verdict(None, Some("gold: there is no statement".to_owned())));
    }
    // Run, it has no rows, as some gold queries have none.
    if is_blank(&question.prediction) {
        return Ok(verdict(Some(Status::SqlError), Some("there is no statement".to_owned())));
    }
    let prediction = seat.execute(&question.source, &question.prediction, most)?;
    let gold = seat.execute(&question.source, &question.gold, most)?;
    if let Some((_, message)) = failure(&gold) {
        return Ok(verdict(None, Some(format!("gold: {message}"))));
    }
    if let Some((status, message)) = failure(&prediction) {
        return Ok(verdict(Some(status), Some(message)));
    }
    let right = same_set(&gold.table, &prediction.table);
    let status = if right { Status::Correct } else { Status::Wrong };
    let mut verdict = BirdVerdict { soft_f1: soft_f1(&gold.table, &prediction.table), ..verdict(Some(status), None) };
    if right && iterations > 0 {
        let (mut gold_times, mut predicted_times) = (Vec::new(), Vec::new());
        for _ in 0..iterations {
            predicted_times.push(seat.time(&question.source, &question.prediction)?.elapsed.as_secs_f64());
            gold_times.push(seat.time(&question.source, &question.gold)?.elapsed.as_secs_f64());
        }
        verdict.reward = Some(reward(&gold_times, &predicted_times));
    }
    Ok(verdict)
}

/// Reason why there is no complete result.
fn failure(execution: &Execution) -> Option<(Status, String)> {
    match &execution.outcome {
        StatementOutcome::Done if execution.truncated => {
            Some((Status::Refused, format!("more than {} rows", execution.table.len())))
        }
        StatementOutcome::Done => None,
        StatementOutcome::SqlError(message) => Some((Status::SqlError, message.clone())),
        StatementOutcome::SetupFailed(message) => Some((Status::SqlError, format!("database: {message}"))),
        StatementOutcome::Timeout => Some((Status::Timeout, "timeout".to_owned())),
        StatementOutcome::Refused(message) => Some((Status::Refused, message.clone())),
    }
}
