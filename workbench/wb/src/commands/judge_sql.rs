//! `wb bench spider`, `bird` and `synthetic-sql`: predicted SQL judged, beside gold queries, in real databases.

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::Result;
use wb_core::{remote, run_dir::write_json};
use wb_data::parquet_rows;
use wb_pipeline::{environment, external, requirements};
use wb_sql::{
    benchmarks::{SYNTHETIC_SQL_COLUMNS, SqlBenchmark, SqlScores, SqlSubmission, files, scores::ReportBlock},
    execute::{JudgeOptions, WorkerPool},
};

use super::{End, data_get};
use crate::{
    args, interrupt,
    output::{self, Bars},
};

/// Judges predictions, prints and writes what came out, and looks at what is required of it.
pub fn judge(benchmark: SqlBenchmark, arguments: &args::Bench) -> Result<End> {
    let requirements = requirements::of_sql(&arguments.require, benchmark)?;
    if let Some(path) = &arguments.json {
        files::writable(path, "--json")?;
    }
    interrupt::ends_at_once()?;
    let (dataset, predictions) = inputs(benchmark, arguments)?;
    let sql = &arguments.sql;
    let databases = sql.execution.databases.as_deref().map(remote::local).transpose()?;
    let compat = sql.compat.unwrap_or_default();
    let is_parquet = dataset.extension().is_some_and(|ending| ending == "parquet");
    let rows = match benchmark {
        SqlBenchmark::SyntheticSql if is_parquet => Some(parquet_rows(&dataset, &SYNTHETIC_SQL_COLUMNS)?),
        _ => None,
    };
    let submission = SqlSubmission {
        dataset: &dataset,
        rows: rows.as_deref(),
        predictions,
        questions: sql.questions.as_deref(),
        databases: databases.as_deref(),
        options: JudgeOptions { compat, plug_value: sql.plug_value, keep_distinct: sql.keep_distinct },
        iterations: usize::from(sql.iterations.unwrap_or(100)),
        pool: pool(&sql.execution, benchmark)?,
    };
    let mut bars = Bars::new();
    let scores = benchmark.measure(&submission, &mut |progress| bars.report(progress))?;
    bars.finish();
    print(&scores);
    if let Some(path) = &arguments.json {
        write_json(path, &scores.record)?;
    }
    let refusals = scores.refusals(&requirements);
    refusals.iter().for_each(output::note);
    Ok(if refusals.is_empty() { End::Done } else { End::Refused })
}

/// Workers: this same program, started again.
pub(super) fn pool(execution: &args::SqlExecution, benchmark: SqlBenchmark) -> Result<WorkerPool> {
    environment::sql_workers("sql-worker", execution.timeout.unwrap_or(benchmark.timeout_seconds()), execution.workers)
}

/// `wb sql-worker`: serves statements to the `wb` that started it, and writes nothing but their results.
pub fn worker() -> Result<End> {
    wb_sql::execute::serve(io::stdin(), io::stdout())?;
    Ok(End::Done)
}

/// The data, where it is named or looked for, and the predictions, which have to be named.
fn inputs(benchmark: SqlBenchmark, arguments: &args::Bench) -> Result<(PathBuf, &Path)> {
    let Some(predictions) = arguments.sql.predictions.as_deref() else {
        // Nothing is fetched for a command that is not whole.
        let is_there = arguments.dataset.is_some() || external::has_sql(benchmark, &arguments.external)?;
        return Err(external::without_predictions(benchmark, !is_there).into());
    };
    let dataset = match &arguments.dataset {
        Some(dataset) => remote::local(dataset)?,
        None => external::of_sql(benchmark, &arguments.external, &data_get::bring)?,
    };
    Ok((dataset, predictions))
}

fn print(scores: &SqlScores) {
    for block in &scores.blocks {
        match block {
            ReportBlock::Line(line) => output::line(line),
            ReportBlock::Table(header, rows) => output::table(header, rows),
        }
    }
}
