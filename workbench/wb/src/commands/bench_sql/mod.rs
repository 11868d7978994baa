//! `wb bench spider`, `bird` and `synthetic-sql`: predicted SQL judged, beside gold queries, in real databases.

pub mod generate;
mod options;

pub use self::options::first_option;

use std::io;

use anyhow::{Result, bail};
use wb_bench::benchmarks::NAMES;
use wb_core::{Error, run_dir::write_json, suggest};
use wb_sql::{
    benchmarks::{SqlBenchmark, SqlScores, SqlSubmission, files, scores::ReportBlock},
    execute::JudgeOptions,
};

use super::{End, bench::requirement};
use crate::{
    args, interrupt,
    output::{self, Bars},
};

/// Which benchmark of text-to-SQL is asked for, if one is.
///
/// # Errors
///
/// If it is one of several, or options do not go with what is asked for.
pub fn asked(arguments: &args::Bench) -> Result<Option<SqlBenchmark>> {
    let names = &arguments.names;
    let Some(kind) = names.iter().find_map(|name| SqlBenchmark::named(name)) else {
        let all = || NAMES.into_iter().chain(SqlBenchmark::ALL.map(SqlBenchmark::name));
        if let Some(name) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(
                Error::Unknown { kind: "benchmark", name: name.clone(), hint: suggest::hint(name, all()) }.into()
            );
        }
        options::refuse_for_retrieval(arguments)?;
        return Ok(None);
    };
    let rest = names.iter().skip(1).any(|name| arguments.sql.generate.is_none() || !name.contains('='));
    if rest || names.first().is_none_or(|first| first != kind.name()) {
        bail!("{} is judged alone: predictions are those of one benchmark", kind.name());
    }
    options::refuse_for(kind, arguments)?;
    Ok(Some(kind))
}

/// Judges predictions, prints and writes what came out, and looks at what is required of it.
pub fn bench(kind: SqlBenchmark, arguments: &args::Bench) -> Result<End> {
    let requirements = arguments.require.iter().map(|text| requirement(text)).collect::<Result<Vec<_>>>()?;
    check_metrics(&requirements, kind)?;
    if let Some(path) = &arguments.json {
        files::writable(path)?;
    }
    if arguments.sql.generate.is_some() {
        return generate::generate(arguments, &requirements);
    }
    interrupt::ends_at_once()?;
    let (dataset, predictions) = options::inputs(kind, arguments)?;
    let sql = &arguments.sql;
    let compat = sql.compat.unwrap_or_default();
    let submission = SqlSubmission {
        dataset: &dataset,
        predictions,
        questions: sql.questions.as_deref(),
        databases: sql.databases.as_deref(),
        options: JudgeOptions { compat, plug_value: sql.plug_value, keep_distinct: sql.keep_distinct },
        iterations: usize::from(sql.iterations.unwrap_or(100)),
        pool: options::pool(sql, kind.timeout_seconds())?,
    };
    let mut bars = Bars::new();
    let scores = kind.measure(&submission, &mut |progress| bars.report(progress))?;
    bars.finish();
    print(&scores);
    if let Some(path) = &arguments.json {
        write_json(path, &scores.json)?;
    }
    let refusals = scores.refusals(&requirements);
    refusals.iter().for_each(output::note);
    Ok(if refusals.is_empty() { End::Done } else { End::Refused })
}

/// Refuses requirements that the benchmark has no figure for, before anything runs.
fn check_metrics(requirements: &[(String, f64)], benchmark: SqlBenchmark) -> Result<()> {
    for (metric, least) in requirements {
        if !benchmark.metrics().contains(&metric.as_str()) {
            let known = benchmark.metrics().join(", ");
            bail!("--require {metric}={least}: {} has no metric `{metric}`, but {known}", benchmark.name());
        }
    }
    Ok(())
}

fn print(scores: &SqlScores) {
    for block in &scores.blocks {
        match block {
            ReportBlock::Line(line) => output::line(line),
            ReportBlock::Table(header, rows) => output::table(header, rows),
        }
    }
}

/// `wb sql-worker`: serves statements to the `wb` that started it, and writes nothing but their results.
pub fn worker() -> Result<End> {
    wb_sql::execute::serve(io::stdin(), io::stdout())?;
    Ok(End::Done)
}
