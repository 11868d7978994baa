//! Queries without a language model: the nearest examples' queries, fitted to each question's database by rules.

use wb_core::{Progress, Ranking};
use wb_sql::{
    benchmarks::SendProgress,
    execute::{CellValue, Execution, Seat, StatementOutcome, WorkerPool},
};

use super::{answers::AnsweredQuery, inputs::RagInputs};
use crate::{
    RagConfig, Result,
    config::NearestConfig,
    predict::{Prediction, Predictor, Ran},
};

/// A query for each question, with these examples or without any.
pub fn answers(
    (config, nearest): (&RagConfig, &NearestConfig),
    inputs: &RagInputs,
    predictor: &Predictor<'_>,
    rankings: Option<&[Ranking]>,
    pool: &WorkerPool,
    progress: &mut SendProgress<'_>,
) -> Result<Vec<AnsweredQuery>> {
    let how = nearest.with_top_k(config.top_k);
    let work = |seat: &mut Seat<'_>, (): &mut (), at: &usize| {
        let (asked, source) = (&inputs.asked[*at], inputs.source(*at));
        let cells = &inputs.cells[&asked.db_id];
        let mut failed = None;
        let mut run = |sql: &str| match source.as_ref().map(|source| seat.execute(source, sql, ROWS)) {
            Some(Ok(execution)) => ran(&execution),
            Some(Err(error)) => {
                failed = Some(error);
                Ran::Unknown
            }
            None => Ran::Unknown,
        };
        let prediction = match rankings {
            Some(rankings) => predictor.predict(asked, cells, &rankings[*at].hits, &how, &mut run),
            None => predictor.predict_fixed(asked, cells, &how, &mut run),
        };
        failed.map_or(Ok(prediction), Err)
    };
    let numbers: Vec<usize> = (0..inputs.asked.len()).collect();
    let mut done = |done| progress(Progress::new("fitting queries", done, numbers.len()));
    let predictions = pool.each(&numbers, work, &mut done)?;
    let one = |prediction: Result<Prediction>| {
        Ok(match prediction?.sql {
            Ok(sql) => AnsweredQuery { sql, message: None },
            Err(reason) => AnsweredQuery::none(reason.to_string()),
        })
    };
    predictions.into_iter().map(one).collect()
}

/// Three rows tell a result from none.
const ROWS: u64 = 3;

fn ran(execution: &Execution) -> Ran {
    let says_nothing = |cell: &CellValue| matches!(cell, CellValue::Null | CellValue::Int(0));
    match &execution.outcome {
        StatementOutcome::Done if execution.table.cells.iter().all(says_nothing) => Ran::Empty,
        StatementOutcome::Done => Ran::Rows,
        _ => Ran::Failed,
    }
}
