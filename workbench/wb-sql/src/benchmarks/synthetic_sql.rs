//! `wb bench synthetic-sql`: each row has a schema with data of its own, made afresh where its queries run.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value as Json;
use wb_core::{
    Error, Progress,
    records::sql::{PredictionStatus, SqlCounts, SqlInputs, SqlOptions, SqlRecord, SqlVerdict, SyntheticSqlVerdict},
};

use super::{
    SendProgress, SqlBenchmark, SqlSubmission, entries, files,
    levels::{LevelMeasure, LevelScores, counted},
    predictions::{self, ExpectedPredictions},
    scores::{ReportBlock, SqlScores},
    status,
};
use crate::{
    Compat, Result,
    execute::{DatabaseSource, ExecutionJudge, JudgeOptions, Judgement, QueryPair},
};

const PROTOCOL: &str = "synthetic-sql-ex";

const MEASURES: [LevelMeasure; 1] = [LevelMeasure { key: "ex", heading: "execution", counts: true }];

const WHAT: &str = "--dataset FILE has JSON lines (or one array) of objects, or rows of Parquet, with sql_context and \
                    sql, and, where there are any, id, domain and sql_complexity";

/// A row of gretel's data set; what else stands there is not needed.
#[derive(Deserialize)]
struct Row {
    id: Option<Json>,
    domain: Option<String>,
    sql_complexity: Option<String>,
    sql_context: String,
    sql: String,
}

/// Columns of a row, for who reads rows out of Parquet.
pub const COLUMNS: [&str; 5] = ["id", "domain", "sql_complexity", "sql_context", "sql"];

/// The file of rows in a folder: the only one of JSON lines, or the only one of these that is called a test; where there
/// is none, so of Parquet.
pub(super) fn rows_in(folder: &Path) -> Result<Option<PathBuf>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let found = fs::read_dir(folder).and_then(|found| found.map(|one| Ok(one?.path())).collect());
    let found: Vec<PathBuf> = found.map_err(Error::io("read", folder))?;
    let ending_in = |endings: &[&str]| -> Vec<PathBuf> {
        let ends = |path: &&PathBuf| path.extension().is_some_and(|own| endings.iter().any(|ending| own == *ending));
        found.iter().filter(ends).cloned().collect()
    };
    let mut all = ending_in(&["jsonl", "json"]);
    if all.is_empty() {
        all = ending_in(&["parquet"]);
    }
    if all.len() > 1 {
        all.retain(|path| files::name(path).to_lowercase().contains("test"));
    }
    Ok(if all.len() == 1 { all.pop() } else { None })
}

/// Judges a file of predictions.
pub(super) fn measure(submission: &SqlSubmission<'_>, progress: &mut SendProgress<'_>) -> Result<SqlScores> {
    let SqlSubmission { dataset, predictions: path, rows: read, ref pool, .. } = *submission;
    let rows = rows(dataset, read)?;
    let expected = ExpectedPredictions {
        benchmark: SqlBenchmark::SyntheticSql,
        questions: dataset,
        db_ids: Vec::new(),
        count: rows.len(),
    };
    let lines = predictions::read(path, &expected)?.all;
    let question = |(row, line): (&Row, &String)| QueryPair {
        gold: row.sql.clone(),
        prediction: line.trim().to_owned(),
        sources: vec![DatabaseSource::Script(row.sql_context.clone())],
    };
    let questions: Vec<QueryPair> = rows.iter().zip(&lines).map(question).collect();
    let timeout_seconds = pool.limits().timeout.as_secs_f64();
    let options = JudgeOptions { compat: Compat::Strict, ..JudgeOptions::default() };
    let total = questions.len();
    let judgements = ExecutionJudge::new(pool.clone(), options)
        .judge(&questions, &mut |done| progress(Progress::new("running predictions", done, total)))?;
    let inputs = SqlInputs { questions: files::hashed(dataset)?, predictions: files::hashed(path)?, tables: None };
    Ok(scores(&rows, &judgements, SqlOptions { timeout_seconds, ..SqlOptions::default() }, inputs))
}

/// The rows of the file, or those that were read out of it.
fn rows(dataset: &Path, read: Option<&[Json]>) -> Result<Vec<Row>> {
    let rows: Vec<Row> = match read {
        None => entries::values(dataset, WHAT)?,
        Some(read) => entries::of_rows(dataset, read, WHAT)?,
    };
    if rows.is_empty() {
        return Err(Error::data(dataset.display().to_string(), "there are no rows").with_hint(WHAT));
    }
    Ok(rows)
}

/// Part that keeps a row from being judged: its own statements, or its gold query.
fn unjudged(judgement: &Judgement) -> Option<&'static str> {
    let message = judgement.message.as_deref().unwrap_or_default();
    judgement.status.is_none().then_some(if message.starts_with("database:") { "context" } else { "gold" })
}

fn scores(rows: &[Row], judgements: &[Judgement], options: SqlOptions, inputs: SqlInputs) -> SqlScores {
    const UNNAMED: &str = "unnamed";
    let complexity = |row: &Row| row.sql_complexity.clone().unwrap_or_else(|| UNNAMED.to_owned());
    let domain = |row: &Row| row.domain.clone().unwrap_or_else(|| UNNAMED.to_owned());
    let names = |of: &dyn Fn(&Row) -> String| rows.iter().map(of).collect::<BTreeSet<_>>();
    let mut by_complexity = LevelScores::new(&MEASURES, names(&complexity));
    let mut by_domain = LevelScores::new(&MEASURES, names(&domain));
    for (row, judgement) in rows.iter().zip(judgements) {
        let ex = [judgement.correct().map(counted)];
        by_complexity.add(Some(&complexity(row)), &ex);
        by_domain.add(Some(&domain(row)), &ex);
    }
    let word = |one: &Judgement| one.status.map(|_| status::status(Some(one), false, false));
    let statuses: Vec<PredictionStatus> = judgements.iter().filter_map(word).collect();
    let failed = |what| judgements.iter().filter(|judgement| unjudged(judgement) == Some(what)).count();
    let (context, gold) = (failed("context"), failed("gold"));
    let blocks = vec![
        ReportBlock::Line(format!("synthetic-sql: {} rows, {PROTOCOL}", rows.len())),
        ReportBlock::Table(by_complexity.header("complexity"), by_complexity.rows()),
        ReportBlock::Line(String::new()),
        ReportBlock::Line(status::line(&statuses)),
        ReportBlock::Line(format!(
            "not judged  {context} rows whose sql_context SQLite cannot run, {gold} whose sql is no query or fails"
        )),
    ];
    let question = |(index, (row, judgement)): (usize, (&Row, &Judgement))| {
        SqlVerdict::SyntheticSql(SyntheticSqlVerdict {
            index,
            id: row.id.clone(),
            domain: row.domain.clone(),
            sql_complexity: row.sql_complexity.clone(),
            ex: judgement.correct(),
            status: word(judgement),
            message: judgement.message.clone(),
        })
    };
    let record = SqlRecord {
        benchmark: SqlBenchmark::SyntheticSql.name(),
        wb: env!("CARGO_PKG_VERSION"),
        protocol: [("ex".to_owned(), PROTOCOL.to_owned())].into(),
        compat: None,
        options,
        comparable: None,
        inputs,
        databases: None,
        totals: by_complexity.record(),
        clauses: IndexMap::new(),
        domains: by_domain.record(),
        statuses: status::counts(&statuses),
        counts: SqlCounts {
            questions: rows.len(),
            context_failed: Some(context),
            gold_failed: gold,
            ..SqlCounts::default()
        },
        questions: rows.iter().zip(judgements).enumerate().map(question).collect(),
    };
    SqlScores { benchmark: SqlBenchmark::SyntheticSql, blocks, record, metrics: by_complexity.figures() }
}
