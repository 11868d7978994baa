//! `wb bench spider`: exact match and execution by hardness, clause by clause, question by question.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

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
    exact::{Component, Hardness, LevelTotals, Totals},
    execute::{Judge, JudgeOptions, Judgement, prediction_of_line},
    spider::Schemas,
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
    schemas: Schemas,
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
    let schemas = Schemas::parse(&tables, &text)?;
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
    let judged = judge(&inputs, &Judge::new(submission.pool.clone(), options), progress)?;
    outcome(&inputs, &judged)
}

fn judge(inputs: &Inputs<'_>, judge: &Judge, progress: &mut SendProgress<'_>) -> Result<Vec<JudgedPrediction>> {
    let compat = inputs.options.compat;
    let lines: Vec<String> = inputs.lines.all.iter().map(|line| prediction_of_line(line, compat)).collect();
    let predicted = inputs.questions.all.iter().zip(&lines).map(|(question, sql)| {
        let (schema, sources) = (inputs.schemas.get(&question.db_id)?, inputs.databases.sources(&question.db_id));
        Ok(PredictedQuery { gold: &question.gold, sql, schema, sources })
    });
    judged::judge(&predicted.collect::<Result<Vec<_>>>()?, judge, compat, progress)
}

fn outcome(inputs: &Inputs<'_>, judged: &[JudgedPrediction]) -> Result<SqlScores> {
    let mut levels = LevelScores::new(&MEASURES, Hardness::ALL.map(|level| level.to_string()));
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
    let json = record(inputs, judged, &levels, &totals)?;
    Ok(SqlScores { benchmark: SqlBenchmark::Spider, blocks, json, metrics: levels.figures() })
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
    let row = |component: Component| {
        let figures = all.components[component as usize];
        let shown = [figures.accuracy, figures.recall, figures.f1].map(|figure| format!("{figure:.3}"));
        [component.name().to_owned()].into_iter().chain(shown).collect()
    };
    Component::ALL.map(row).into()
}

fn record(inputs: &Inputs<'_>, judged: &[JudgedPrediction], levels: &LevelScores, totals: &Totals) -> Result<Json> {
    let [em, ex] = protocols(inputs.options, inputs.databases.is_suite());
    let by_level = Hardness::ALL.map(|level| (level.to_string(), totals.level(level).components));
    let by_level = by_level.into_iter().chain([("all".to_owned(), totals.all().components)]);
    let clauses: Map<String, Json> = by_level.map(|(name, components)| (name, json!(components))).collect();
    Ok(json!({
        "benchmark": "spider",
        "wb": env!("CARGO_PKG_VERSION"),
        "protocol": { "em": em, "ex": ex },
        "compat": compat_name(inputs.options.compat),
        "options": {
            "plug_value": inputs.options.plug_value,
            "keep_distinct": inputs.options.keeps_distinct(),
            "timeout_seconds": inputs.timeout_seconds,
        },
        "comparable": COMPARABLE,
        "inputs": {
            "questions": files::named(&inputs.questions.path)?,
            "predictions": files::named(inputs.predictions_path)?,
            "tables": files::named(&inputs.folder.join("tables.json"))?,
        },
        "databases": inputs.databases.json(),
        "totals": levels.json(),
        "clauses": clauses,
        "statuses": status::json(&statuses(judged)),
        "counts": {
            "questions": judged.len(),
            "without_database": without_database(judged),
            "gold_unread": count(judged, |exact| exact.verdict.is_none()),
            "gold_failed": failed_gold(judged).0,
            "raises": count(judged, raises),
            "cut_at_tab": inputs.lines.cut,
        },
        "questions": (0..judged.len()).map(|at| question(inputs, judged, at)).collect::<Vec<_>>(),
    }))
}

fn question(inputs: &Inputs<'_>, judged: &[JudgedPrediction], at: usize) -> Json {
    let (asked, JudgedPrediction { exact, executed, status }) = (&inputs.questions.all[at], &judged[at]);
    let mut question = json!({
        "index": at,
        "db_id": asked.db_id,
        "hardness": exact.hardness,
        "em": exact.em(),
        "ex": executed.as_ref().and_then(Judgement::correct),
        "status": status,
        "parsed": exact.parsed,
    });
    if let Some(id) = &asked.id {
        question["id"] = id.clone();
    }
    let message = executed.as_ref().map_or(Some("no database"), |executed| executed.message.as_deref());
    if let Some(message) = message {
        question["message"] = message.into();
    }
    question
}
