//! `wb bench spider`: exact match and execution by hardness, clause by clause, question by question.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value as Json, json};
use wb_sql::{
    Compat,
    exact::{Component, Hardness, LevelTotals, Totals},
    execute::{Judge, JudgeOptions, Judgement, prediction_of_line},
    spider::Schemas,
};

use super::{
    Kind,
    databases::{Databases, Files},
    exact::Exact,
    files,
    judged::{self, Judged, Predicted, statuses},
    levels::{Levels, Measure, counted},
    measured::{Block, Measured},
    options,
    predictions::{self, Expected, Lines},
    protocols::{compat_name, protocols},
    spider_questions::Questions,
    status,
};
use crate::{args, output::Bars};

const MEASURES: [Measure; 3] = [
    Measure { key: "em", heading: "exact match", counts: true },
    Measure { key: "ex", heading: "execution", counts: true },
    Measure { key: "parse_rate", heading: "parse rate", counts: true },
];

const COMPARABLE: &str = "figures compare with those of the same questions, protocol and databases (their blake3): \
                          databases with other rows give another ex";

const DATABASES: &str = "--databases DIR has a folder for each database, DIR/ID/*.sqlite [default: database of the \
                         data; where there is no such folder, exact match is measured alone]";

/// Everything that was read.
struct Inputs<'a> {
    folder: &'a Path,
    schemas: Schemas,
    questions: Questions,
    predictions_path: &'a Path,
    lines: Lines,
    databases: Databases,
    options: JudgeOptions,
    timeout_seconds: f64,
}

/// True where a folder has schemas and questions.
pub fn is_in(folder: &Path) -> bool {
    folder.join("tables.json").is_file() && Questions::file_in(folder).is_file()
}

/// Judges a file of predictions.
pub fn measure(arguments: &args::Bench, bars: &mut Bars) -> Result<Measured> {
    let (folder, predictions_path) = options::inputs(Kind::Spider, arguments)?;
    let folder = folder.as_path();
    let sql = &arguments.sql;
    files::folder(folder, "--dataset DIR is a folder with dev.json, tables.json and database/ID/*.sqlite")?;
    let tables = folder.join("tables.json");
    let text = files::read(&tables, "Spider has tables.json, the schemas of its databases, beside dev.json")?;
    let schemas = Schemas::parse(&tables, &text)?;
    let questions = Questions::load(folder, sql.questions.as_deref(), &schemas, &tables)?;
    let db_ids: Vec<&str> = questions.all.iter().map(|question| question.db_id.as_str()).collect();
    let expected =
        Expected { kind: Kind::Spider, questions: &questions.path, count: db_ids.len(), db_ids: db_ids.clone() };
    let lines = predictions::read(predictions_path, &expected)?;
    let root = sql.databases.clone().unwrap_or_else(|| folder.join("database"));
    // Exact match needs no databases: where there is no such folder and none was named, it is measured alone.
    let expects_databases = sql.databases.is_some() || root.exists();
    if expects_databases {
        files::folder(&root, DATABASES)?;
    }
    let databases = Databases::open(&root, db_ids.into_iter(), Files::All, bars)?;
    if expects_databases {
        databases.refuse_none(&root, DATABASES)?;
    }
    let compat = sql.compat.unwrap_or_default();
    let keep_distinct = sql.keep_distinct || compat == Compat::Strict;
    let options = JudgeOptions { compat, plug_value: sql.plug_value, keep_distinct };
    let pool = options::pool(sql, 20.0)?;
    let timeout_seconds = pool.limits().timeout.as_secs_f64();
    let inputs = Inputs { folder, schemas, questions, predictions_path, lines, databases, options, timeout_seconds };
    let judged = judge(&inputs, &Judge::new(pool, options), bars)?;
    outcome(&inputs, &judged, arguments.json.is_some())
}

fn judge(inputs: &Inputs<'_>, judge: &Judge, bars: &mut Bars) -> Result<Vec<Judged>> {
    let compat = inputs.options.compat;
    let lines: Vec<String> = inputs.lines.all.iter().map(|line| prediction_of_line(line, compat)).collect();
    let predicted = inputs.questions.all.iter().zip(&lines).map(|(question, sql)| {
        let (schema, sources) = (inputs.schemas.get(&question.db_id)?, inputs.databases.sources(&question.db_id));
        Ok(Predicted { gold: &question.gold, sql, schema, sources })
    });
    judged::judge(&predicted.collect::<Result<Vec<_>>>()?, judge, compat, bars)
}

fn outcome(inputs: &Inputs<'_>, judged: &[Judged], is_recorded: bool) -> Result<Measured> {
    let mut levels = Levels::new(&MEASURES, Hardness::ALL.map(|level| level.to_string()));
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
    let json = if is_recorded { record(inputs, judged, &levels, &totals)? } else { Json::Null };
    Ok(Measured { kind: Kind::Spider, blocks, json, metrics: levels.figures() })
}

/// Gold queries that fail: how many, and the first one with what SQLite says.
fn failed_gold(judged: &[Judged]) -> (usize, Option<(usize, &str)>) {
    let failed = |one: &Judged| one.executed.as_ref().is_some_and(|executed| executed.status.is_none());
    let mut places = (0..judged.len()).filter(|&at| failed(&judged[at]));
    let first = places.next();
    let message = |at: usize| (at, judged[at].executed.as_ref().and_then(|one| one.message.as_deref()).unwrap_or(""));
    (usize::from(first.is_some()) + places.count(), first.map(message))
}

fn count(judged: &[Judged], is: impl Fn(&Exact) -> bool) -> usize {
    judged.iter().filter(|one| is(&one.exact)).count()
}

fn raises(exact: &Exact) -> bool {
    exact.verdict.is_some_and(|verdict| verdict.raises)
}

fn without_database(judged: &[Judged]) -> usize {
    judged.iter().filter(|one| one.executed.is_none()).count()
}

fn blocks(inputs: &Inputs<'_>, judged: &[Judged], levels: &Levels, totals: &Totals) -> Vec<Block> {
    let questions = files::name(&inputs.questions.path);
    let count_of = judged.len();
    let mut blocks = vec![
        Block::Line(format!(
            "spider: {count_of} questions of {questions}, {}",
            protocols(inputs.options, inputs.databases.is_suite()).join(", ")
        )),
        Block::Table(levels.header("hardness"), levels.rows()),
        Block::Line(String::new()),
        Block::Table(vec!["clause", "accuracy", "recall", "F1"], clauses(&totals.all())),
        Block::Line(String::new()),
        Block::Line(status::line(&statuses(judged))),
        Block::Line(inputs.databases.line(without_database(judged))),
    ];
    if !inputs.databases.is_any() {
        let folder = inputs.folder.join("database");
        let line = format!("execution   not measured: there is no folder {}, and no --databases", folder.display());
        blocks.push(Block::Line(line));
    }
    let unread = count(judged, |exact| exact.verdict.is_none());
    let mut say = |count: usize, line: String| {
        if count > 0 {
            blocks.push(Block::Line(line));
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
    blocks.push(Block::Line(format!("compare     {COMPARABLE}")));
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

fn record(inputs: &Inputs<'_>, judged: &[Judged], levels: &Levels, totals: &Totals) -> Result<Json> {
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
            "keep_distinct": inputs.options.keep_distinct,
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

fn question(inputs: &Inputs<'_>, judged: &[Judged], at: usize) -> Json {
    let (asked, Judged { exact, executed, status }) = (&inputs.questions.all[at], &judged[at]);
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
