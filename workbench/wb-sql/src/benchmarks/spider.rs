//! `wb bench spider`: exact match and execution by hardness, clause by clause, question by question.

use std::path::Path;

use indexmap::IndexMap;
use wb_core::records::sql::{SpiderVerdict, SqlCounts, SqlInputs, SqlOptions, SqlRecord, SqlVerdict};

use super::{
    SendProgress, SqlBenchmark, SqlSubmission,
    databases::{DatabaseFiles, QuestionDatabases},
    exact::ExactVerdict,
    files,
    judged::{self, JudgedPrediction, PredictedQuery, statuses},
    levels::{LevelMeasure, LevelScores, counted},
    predictions::{self, ExpectedPredictions, PredictionLines},
    protocols::{compat_name, protocols},
    scores::{ReportBlock, SqlScores},
    spider_questions::SpiderQuestions,
    status,
};
use crate::{
    Result,
    exact::{LevelTotals, QueryComponent, QueryHardness, Totals},
    execute::{ExecutionJudge, JudgeOptions},
    spider::DatabaseSchemas,
};

const MEASURES: [LevelMeasure; 3] = [
    LevelMeasure { key: "em", heading: "exact match", counts: true },
    LevelMeasure { key: "ex", heading: "execution", counts: true },
    LevelMeasure { key: "parse_rate", heading: "parse rate", counts: true },
];

const COMPARABLE: &str = "figures compare with those of the same questions, protocol and databases (their blake3): \
                          databases with other rows give another ex";

const DATABASES: &str = "--databases DIR has a folder for each database, DIR/ID/*.sqlite [default: database of the \
                         data; where there is no such folder, exact match is measured alone]";

/// Everything that was read.
struct Inputs<'a> {
    folder: &'a Path,
    schemas: DatabaseSchemas,
    questions: SpiderQuestions,
    predictions_path: &'a Path,
    lines: PredictionLines,
    databases: QuestionDatabases,
    options: JudgeOptions,
    timeout_seconds: f64,
}

/// True where a folder has schemas and questions.
pub fn is_in(folder: &Path) -> bool {
    folder.join("tables.json").is_file() && SpiderQuestions::file_in(folder).is_file()
}

/// Judges a file of predictions.
pub(super) fn measure(submission: &SqlSubmission<'_>, progress: &mut SendProgress<'_>) -> Result<SqlScores> {
    let SqlSubmission { dataset: folder, predictions: predictions_path, .. } = *submission;
    files::folder(folder, "--dataset DIR is a folder with dev.json, tables.json and database/ID/*.sqlite")?;
    let tables = folder.join("tables.json");
    let text = files::read(&tables, "Spider has tables.json, the schemas of its databases, beside dev.json")?;
    let schemas = DatabaseSchemas::parse(&tables, &text)?;
    let questions = SpiderQuestions::load(folder, submission.questions, &schemas, &tables)?;
    let db_ids: Vec<&str> = questions.all.iter().map(|question| question.db_id.as_str()).collect();
    let expected = ExpectedPredictions {
        benchmark: SqlBenchmark::Spider,
        questions: &questions.path,
        count: db_ids.len(),
        db_ids: db_ids.clone(),
    };
    let lines = predictions::read(predictions_path, &expected)?;
    let root = submission.databases.map_or_else(|| folder.join("database"), Path::to_path_buf);
    // Exact match needs no databases: where there is no such folder and none was named, it is measured alone.
    let expects_databases = submission.databases.is_some() || root.exists();
    if expects_databases {
        files::folder(&root, DATABASES)?;
    }
    let databases = QuestionDatabases::open(&root, db_ids.into_iter(), DatabaseFiles::All, progress)?;
    if expects_databases {
        databases.refuse_none(&root, DATABASES)?;
    }
    let options = submission.options;
    let timeout_seconds = submission.pool.limits().timeout.as_secs_f64();
    let inputs = Inputs { folder, schemas, questions, predictions_path, lines, databases, options, timeout_seconds };
    let judged = judge(&inputs, &ExecutionJudge::new(submission.pool.clone(), options), progress)?;
    scores(&inputs, &judged)
}

fn judge(
    inputs: &Inputs<'_>,
    judge: &ExecutionJudge,
    progress: &mut SendProgress<'_>,
) -> Result<Vec<JudgedPrediction>> {
    let predicted = inputs.questions.all.iter().zip(&inputs.lines.all).map(|(question, line)| {
        let (schema, sources) = (inputs.schemas.get(&question.db_id)?, inputs.databases.sources(&question.db_id));
        Ok(PredictedQuery { gold: &question.gold, line, schema, sources })
    });
    judged::judge(&predicted.collect::<Result<Vec<_>>>()?, judge, inputs.options.compat, progress)
}

fn scores(inputs: &Inputs<'_>, judged: &[JudgedPrediction]) -> Result<SqlScores> {
    let mut levels = LevelScores::new(&MEASURES, QueryHardness::ALL.map(|level| level.to_string()));
    let mut totals = Totals::default();
    for one in judged {
        let (exact, ex) = (&one.exact, one.ex().map(counted));
        let level = exact.hardness.map(|level| level.to_string());
        levels.add(level.as_deref(), &[Some(counted(exact.em())), ex, Some(counted(exact.parsed))]);
        if let (Some(hardness), Some(verdict)) = (exact.hardness, &exact.verdict) {
            totals.add(hardness, verdict);
        }
    }
    let blocks = blocks(inputs, judged, &levels, &totals);
    let record = record(inputs, judged, &levels, &totals)?;
    Ok(SqlScores { benchmark: SqlBenchmark::Spider, blocks, record, metrics: levels.figures() })
}

/// Gold queries that fail: how many, and the first one with what SQLite says.
fn failed_gold(judged: &[JudgedPrediction]) -> (usize, Option<(usize, &str)>) {
    let failed = |one: &JudgedPrediction| one.executed.as_ref().is_some_and(|executed| executed.status.is_none());
    let mut places = (0..judged.len()).filter(|&at| failed(&judged[at]));
    let first = places.next();
    let message = |at: usize| (at, judged[at].executed.as_ref().and_then(|one| one.message.as_deref()).unwrap_or(""));
    (usize::from(first.is_some()) + places.count(), first.map(message))
}

fn count(judged: &[JudgedPrediction], is: impl Fn(&ExactVerdict) -> bool) -> usize {
    judged.iter().filter(|one| is(&one.exact)).count()
}

fn raises(exact: &ExactVerdict) -> bool {
    exact.verdict.is_some_and(|verdict| verdict.raises)
}

fn without_database(judged: &[JudgedPrediction]) -> usize {
    judged.iter().filter(|one| one.executed.is_none()).count()
}

fn blocks(inputs: &Inputs<'_>, judged: &[JudgedPrediction], levels: &LevelScores, totals: &Totals) -> Vec<ReportBlock> {
    let questions = files::name(&inputs.questions.path);
    let count_of = judged.len();
    let mut blocks = vec![
        ReportBlock::Line(format!(
            "spider: {count_of} questions of {questions}, {}",
            protocols(inputs.options, inputs.databases.is_suite()).join(", ")
        )),
        ReportBlock::Table(levels.header("hardness"), levels.rows()),
        ReportBlock::Line(String::new()),
        ReportBlock::Table(vec!["clause", "accuracy", "recall", "F1"], clauses(&totals.all())),
        ReportBlock::Line(String::new()),
        ReportBlock::Line(status::line(&statuses(judged))),
        ReportBlock::Line(inputs.databases.line(without_database(judged))),
    ];
    if !inputs.databases.is_any() {
        let folder = inputs.folder.join("database");
        let line = format!("execution   not measured: there is no folder {}, and no --databases", folder.display());
        blocks.push(ReportBlock::Line(line));
    }
    let unread = count(judged, |exact| exact.verdict.is_none());
    let mut say = |count: usize, line: String| {
        if count > 0 {
            blocks.push(ReportBlock::Line(line));
        }
    };
    say(unread, format!("gold        {unread} gold queries cannot be read: no hardness, and em is false"));
    let (failed, first) = failed_gold(judged);
    if let Some((at, message)) = first {
        say(
            failed,
            format!("gold        {failed} gold queries cannot be run, so that ex is null; question {at}: {message}"),
        );
    }
    let raised = count(judged, raises);
    say(raised, format!("raises      {raised} verdicts where the published evaluator stops with an exception"));
    let cut = inputs.lines.cut;
    say(cut, format!("tabs        {cut} predictions have a tab inside; only what stands before it is judged"));
    blocks.push(ReportBlock::Line(format!("compare     {COMPARABLE}")));
    blocks
}

fn clauses(all: &LevelTotals) -> Vec<Vec<String>> {
    let row = |component: QueryComponent| {
        let figures = all.components[component as usize];
        let shown = [figures.accuracy, figures.recall, figures.f1].map(|figure| format!("{figure:.3}"));
        [component.name().to_owned()].into_iter().chain(shown).collect()
    };
    QueryComponent::ALL.map(row).into()
}

fn record(
    inputs: &Inputs<'_>,
    judged: &[JudgedPrediction],
    levels: &LevelScores,
    totals: &Totals,
) -> Result<SqlRecord> {
    let protocol =
        ["em", "ex"].map(str::to_owned).into_iter().zip(protocols(inputs.options, inputs.databases.is_suite()));
    let by_level = QueryHardness::ALL.map(|level| (level.to_string(), totals.level(level).components));
    let clauses = by_level.into_iter().chain([("all".to_owned(), totals.all().components)]).collect();
    Ok(SqlRecord {
        benchmark: SqlBenchmark::Spider.name(),
        wb: env!("CARGO_PKG_VERSION"),
        protocol: protocol.collect(),
        compat: Some(compat_name(inputs.options.compat)),
        options: SqlOptions {
            plug_value: Some(inputs.options.plug_value),
            keep_distinct: Some(inputs.options.keeps_distinct()),
            timeout_seconds: inputs.timeout_seconds,
            ..SqlOptions::default()
        },
        comparable: Some(COMPARABLE),
        inputs: SqlInputs {
            questions: files::hashed(&inputs.questions.path)?,
            predictions: files::hashed(inputs.predictions_path)?,
            tables: Some(files::hashed(&inputs.folder.join("tables.json"))?),
        },
        databases: Some(inputs.databases.record()),
        totals: levels.record(),
        clauses,
        domains: IndexMap::new(),
        statuses: status::counts(&statuses(judged)),
        counts: SqlCounts {
            questions: judged.len(),
            without_database: Some(without_database(judged)),
            context_failed: None,
            gold_unread: Some(count(judged, |exact| exact.verdict.is_none())),
            gold_failed: failed_gold(judged).0,
            raises: Some(count(judged, raises)),
            cut_at_tab: Some(inputs.lines.cut),
        },
        questions: (0..judged.len()).map(|at| SqlVerdict::Spider(verdict(inputs, judged, at))).collect(),
    })
}

fn verdict(inputs: &Inputs<'_>, judged: &[JudgedPrediction], index: usize) -> SpiderVerdict {
    let (asked, one) = (&inputs.questions.all[index], &judged[index]);
    SpiderVerdict {
        index,
        db_id: asked.db_id.clone(),
        hardness: one.exact.hardness,
        em: one.exact.em(),
        ex: one.ex(),
        status: one.status,
        parsed: one.exact.parsed,
        id: asked.id.clone(),
        message: one.message(),
    }
}
