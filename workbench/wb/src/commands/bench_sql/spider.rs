//! `wb bench spider`: exact match and execution by hardness, clause by clause, question by question.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value as Json, json};
use wb_core::Progress;
use wb_sql::{
    Compat,
    exact::{Component, Hardness, LevelTotals, Totals},
    execute::{Judge, JudgeOptions, Judgement, Question as Asked, prediction_of_line},
    spider::Schemas,
};

use super::{
    Kind,
    databases::{Databases, Files},
    exact::Exact,
    files,
    levels::{Levels, Measure, counted},
    measured::{Block, Measured},
    options,
    predictions::{self, Expected, Lines},
    spider_questions::{Question, Questions},
    status::{self, Status},
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

/// What became of the questions, each in its place.
struct Judged {
    exact: Vec<Exact>,
    executed: Vec<Option<Judgement>>,
    status: Vec<Status>,
}

/// Judges a file of predictions.
pub fn measure(arguments: &args::Bench, bars: &mut Bars) -> Result<Measured> {
    let (folder, predictions_path) = options::inputs(Kind::Spider, arguments)?;
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

fn judge(inputs: &Inputs<'_>, judge: &Judge, bars: &mut Bars) -> Result<Judged> {
    let compat = inputs.options.compat;
    let questions = &inputs.questions.all;
    let predictions: Vec<String> = inputs.lines.all.iter().map(|line| prediction_of_line(line, compat)).collect();
    let exact = |(question, prediction): (&Question, &String)| {
        Ok(Exact::of(&question.gold, prediction, inputs.schemas.get(&question.db_id)?, compat))
    };
    let exact = questions.iter().zip(&predictions).map(exact).collect::<Result<Vec<_>>>()?;
    let asked = |(question, prediction): (&Question, &String)| Asked {
        gold: question.gold.clone(),
        prediction: prediction.clone(),
        sources: inputs.databases.sources(&question.db_id),
    };
    let asked: Vec<Asked> = questions.iter().zip(&predictions).map(asked).collect();
    let (there, runs): (Vec<usize>, Vec<Asked>) =
        asked.into_iter().enumerate().filter(|(_, asked)| !asked.sources.is_empty()).unzip();
    let total = runs.len();
    let judgements = judge.judge(&runs, &mut |done| bars.report(Progress::new("running predictions", done, total)))?;
    let mut executed: Vec<Option<Judgement>> = vec![None; questions.len()];
    for (at, judgement) in there.into_iter().zip(judgements) {
        executed[at] = Some(judgement);
    }
    let status =
        |(exact, executed): (&Exact, &Option<Judgement>)| Status::of(executed.as_ref(), exact.em(), exact.parsed);
    let status = exact.iter().zip(&executed).map(status).collect();
    Ok(Judged { exact, executed, status })
}

fn outcome(inputs: &Inputs<'_>, judged: &Judged, is_recorded: bool) -> Result<Measured> {
    let mut levels = Levels::new(&MEASURES, Hardness::ALL.map(|level| level.to_string()));
    let mut totals = Totals::default();
    for (exact, executed) in judged.exact.iter().zip(&judged.executed) {
        let level = exact.hardness.map(|level| level.to_string());
        let ex = executed.as_ref().and_then(Judgement::correct).map(counted);
        levels.add(level.as_deref(), &[Some(counted(exact.em())), ex, Some(counted(exact.parsed))]);
        if let (Some(hardness), Some(verdict)) = (exact.hardness, &exact.verdict) {
            totals.add(hardness, verdict);
        }
    }
    let blocks = blocks(inputs, judged, &levels, &totals);
    let json = if is_recorded { record(inputs, judged, &levels, &totals)? } else { Json::Null };
    Ok(Measured { kind: Kind::Spider, blocks, json, metrics: levels.figures() })
}

/// Names of the two protocols.
fn protocols(inputs: &Inputs<'_>) -> [String; 2] {
    let options = inputs.options;
    let compat = compat_name(options.compat);
    let kind = if inputs.databases.is_suite() { "ts" } else { "ex" };
    let plug = if options.plug_value { "+plug-value" } else { "" };
    // Strict always keeps it, so that its name need not say so.
    let keep = if options.keep_distinct && options.compat == Compat::Official { "+keep-distinct" } else { "" };
    [format!("spider-em-{compat}"), format!("spider-{kind}-{compat}{plug}{keep}")]
}

fn compat_name(compat: Compat) -> &'static str {
    match compat {
        Compat::Official => "official",
        Compat::Strict => "strict",
    }
}

/// Gold queries that fail: how many, and the first one with what SQLite says.
fn failed_gold(judged: &Judged) -> (usize, Option<(usize, &str)>) {
    let failed = |judgement: &Option<Judgement>| judgement.as_ref().is_some_and(|one| one.status.is_none());
    let mut places = (0..judged.executed.len()).filter(|&at| failed(&judged.executed[at]));
    let first = places.next();
    let message = |at: usize| (at, judged.executed[at].as_ref().and_then(|one| one.message.as_deref()).unwrap_or(""));
    (usize::from(first.is_some()) + places.count(), first.map(message))
}

fn count(judged: &Judged, is: impl Fn(&Exact) -> bool) -> usize {
    judged.exact.iter().filter(|exact| is(exact)).count()
}

fn raises(exact: &Exact) -> bool {
    exact.verdict.is_some_and(|verdict| verdict.raises)
}

fn without_database(judged: &Judged) -> usize {
    judged.executed.iter().filter(|executed| executed.is_none()).count()
}

fn blocks(inputs: &Inputs<'_>, judged: &Judged, levels: &Levels, totals: &Totals) -> Vec<Block> {
    let questions = files::name(&inputs.questions.path);
    let count_of = judged.exact.len();
    let mut blocks = vec![
        Block::Line(format!("spider: {count_of} questions of {questions}, {}", protocols(inputs).join(", "))),
        Block::Table(levels.header("hardness"), levels.rows()),
        Block::Line(String::new()),
        Block::Table(vec!["clause", "accuracy", "recall", "F1"], clauses(&totals.all())),
        Block::Line(String::new()),
        Block::Line(status::line(&judged.status)),
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

fn record(inputs: &Inputs<'_>, judged: &Judged, levels: &Levels, totals: &Totals) -> Result<Json> {
    let [em, ex] = protocols(inputs);
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
        "statuses": status::json(&judged.status),
        "counts": {
            "questions": judged.exact.len(),
            "without_database": without_database(judged),
            "gold_unread": count(judged, |exact| exact.verdict.is_none()),
            "gold_failed": failed_gold(judged).0,
            "raises": count(judged, raises),
            "cut_at_tab": inputs.lines.cut,
        },
        "questions": (0..judged.exact.len()).map(|at| question(inputs, judged, at)).collect::<Vec<_>>(),
    }))
}

fn question(inputs: &Inputs<'_>, judged: &Judged, at: usize) -> Json {
    let (asked, exact, executed) = (&inputs.questions.all[at], &judged.exact[at], &judged.executed[at]);
    let mut question = json!({
        "index": at,
        "db_id": asked.db_id,
        "hardness": exact.hardness,
        "em": exact.em(),
        "ex": executed.as_ref().and_then(Judgement::correct),
        "status": judged.status[at],
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
