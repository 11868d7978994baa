//! Options of `wb bench` that do not go with the benchmark are refused, and the others become a pool of workers.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use wb_core::Error;
use wb_encoder::DeviceConfig;
use wb_sql::{
    benchmarks::SqlBenchmark,
    execute::{Limits, Pool, WorkerCommand},
};

use crate::{
    args::{Bench, BenchSql},
    commands::external,
};

/// The options of predicted SQL that are given, each with the benchmarks that take it.
fn of_sql(sql: &BenchSql) -> Vec<(&'static str, &'static [SqlBenchmark])> {
    const ALL: &[SqlBenchmark] = &SqlBenchmark::ALL;
    const FOLDERS: &[SqlBenchmark] = &[SqlBenchmark::Spider, SqlBenchmark::Bird];
    const SPIDER: &[SqlBenchmark] = &[SqlBenchmark::Spider];
    let options = [
        (sql.predictions.is_some(), "--predictions", ALL),
        (sql.generate.is_some(), "--generate", SPIDER),
        (sql.out.is_some(), "--out", SPIDER),
        (sql.replay.is_some(), "--replay", SPIDER),
        (sql.questions.is_some(), "--questions", FOLDERS),
        (sql.databases.is_some(), "--databases", FOLDERS),
        (sql.compat.is_some(), "--compat", SPIDER),
        (sql.plug_value, "--plug-value", SPIDER),
        (sql.keep_distinct, "--keep-distinct", SPIDER),
        (sql.timeout.is_some(), "--timeout", ALL),
        (sql.workers.is_some(), "--workers", ALL),
        (sql.iterations.is_some(), "--iterations", &[SqlBenchmark::Bird]),
    ];
    options.into_iter().filter(|(given, ..)| *given).map(|(_, name, kinds)| (name, kinds)).collect()
}

/// The options of encoders and retrievers that are given.
fn of_retrieval(arguments: &Bench) -> Vec<&'static str> {
    let options = [
        (arguments.encoder.is_some(), "--encoder"),
        (arguments.retriever.is_some(), "--retriever"),
        (arguments.text != "tokens", "--text"),
        (!arguments.languages.is_empty(), "--languages"),
        (arguments.trec.is_some(), "--trec"),
        (arguments.token_index.is_some(), "--token-index"),
        (arguments.embed.is_some(), "--embed"),
        (arguments.max_tokens.is_some(), "--max-tokens"),
        (arguments.device != DeviceConfig::Auto, "--device"),
    ];
    options.into_iter().filter(|(given, _)| *given).map(|(_, name)| name).collect()
}

/// An option that is for a benchmark, where one is given.
pub fn first_option(arguments: &Bench) -> Option<&'static str> {
    let of_both = [
        (arguments.dataset.is_some(), "--dataset"),
        (arguments.json.is_some(), "--json"),
        (!arguments.require.is_empty(), "--require"),
    ];
    let of_both = of_both.into_iter().filter(|(given, _)| *given).map(|(_, name)| name);
    let of_sql = of_sql(&arguments.sql).into_iter().map(|(name, _)| name);
    of_both.chain(of_retrieval(arguments)).chain(of_sql).next()
}

/// Refuses what only predicted SQL has.
pub fn refuse_for_retrieval(arguments: &Bench) -> Result<()> {
    if let Some((option, kinds)) = of_sql(&arguments.sql).first() {
        bail!("{option} is for {}, not for {}", named(kinds), arguments.names.join(", "));
    }
    Ok(())
}

/// Refuses what only encoders and retrievers have, or another benchmark of predicted SQL.
pub fn refuse_for(kind: SqlBenchmark, arguments: &Bench) -> Result<()> {
    let generates = arguments.sql.generate.is_some();
    let searches = ["--encoder", "--retriever", "--max-tokens", "--device"];
    if let Some(option) = of_retrieval(arguments).iter().find(|option| !generates || !searches.contains(option)) {
        bail!("{option} is for benchmarks of retrieval: {} judges the SQL of --predictions", kind.name());
    }
    let fixed = [
        (arguments.sql.questions.is_some(), "--questions", "rag.questions=FILE"),
        (arguments.sql.plug_value, "--plug-value", "no such key"),
        (arguments.sql.keep_distinct, "--keep-distinct", "rag.compat=strict"),
    ];
    if let (true, Some((_, option, instead))) = (generates, fixed.into_iter().find(|(given, ..)| *given)) {
        bail!("{option} is for predictions that are there; with --generate it is {instead}");
    }
    if let Some((option, kinds)) = of_sql(&arguments.sql).into_iter().find(|(_, kinds)| !kinds.contains(&kind)) {
        bail!("{option} is for {}, not for {}", named(kinds), kind.name());
    }
    Ok(())
}

fn named(kinds: &[SqlBenchmark]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    match names.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        names => names.join(", "),
    }
}

/// The data, where it is named or looked for, and the predictions, which have to be named.
pub fn inputs(kind: SqlBenchmark, arguments: &Bench) -> Result<(PathBuf, &Path)> {
    let Some(predictions) = arguments.sql.predictions.as_deref() else {
        // Nothing is fetched for a command that is not whole.
        let is_there = arguments.dataset.is_some() || external::has_sql(kind, &arguments.external)?;
        return Err(without_predictions(kind, !is_there).into());
    };
    let dataset = match &arguments.dataset {
        Some(dataset) => dataset.clone(),
        None => external::of_sql(kind, &arguments.external, OTHER_DATA)?,
    };
    Ok((dataset, predictions))
}

/// What names another place of the data.
const OTHER_DATA: &str = "--dataset names another place";

/// Both ways to predicted SQL; and that its data is missing too, which would be the next thing to be told.
fn without_predictions(kind: SqlBenchmark, is_missing: bool) -> Error {
    let name = kind.name();
    let mut hint = format!("wb bench {name} --predictions FILE");
    hint += match kind {
        SqlBenchmark::Spider => " judges a file; wb bench spider --generate configs/spider-rag.yaml makes them",
        _ => " judges a file; `wb ls --benchmarks` tells what stands in it",
    };
    if is_missing {
        hint += &format!("; its data is not there either: wb data get {name}");
    }
    Error::Value { key: name.to_owned(), message: "predicted SQL expected".to_owned(), hint: Some(hint) }
}

/// Workers: this same program, started again.
pub fn pool(sql: &BenchSql, default_seconds: f64) -> Result<Pool> {
    // On Linux the program that runs, even where another stands under its name by now.
    let running = Path::new("/proc/self/exe");
    let program = match running.exists() {
        true => running.to_owned(),
        false => std::env::current_exe().context("cannot find this program, to start it as a worker")?,
    };
    let command = WorkerCommand { program, arguments: vec!["sql-worker".into()] };
    let timeout = Duration::from_secs_f64(sql.timeout.unwrap_or(default_seconds));
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = sql.workers.map_or_else(cores, usize::from);
    Ok(Pool::new(command, Limits { timeout, ..Limits::default() }, workers))
}
