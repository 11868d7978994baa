//! `wb bench bird`: EX by sets of rows, R-VES and Soft-F1, by difficulty.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value as Json;
use wb_core::{
    Error, Progress, distinct,
    records::sql::{BirdQuestionVerdict, PredictionStatus, SqlCounts, SqlInputs, SqlOptions, SqlRecord, SqlVerdict},
};

use super::{
    SendProgress, SqlBenchmark, SqlSubmission,
    databases::{DatabaseFiles, QuestionDatabases},
    entries::{self, JsonEntry},
    files,
    judged::NO_DATABASE,
    levels::{LevelMeasure, LevelScores, counted},
    predictions::{ExpectedPredictions, counted as check_count},
    scores::{ReportBlock, SqlScores},
    status,
};
use crate::{
    Result,
    bird::{BirdQuestion, BirdVerdict, SEPARATOR, judge, prediction, ves},
    execute::Status as Executed,
};

const MEASURES: [LevelMeasure; 3] = [
    LevelMeasure { key: "ex", heading: "EX", counts: true },
    LevelMeasure { key: "soft_f1", heading: "Soft-F1", counts: false },
    LevelMeasure { key: "r_ves", heading: "R-VES", counts: false },
];

const COMPARABLE: &str = "figures compare with those of the same questions and databases (their blake3); R-VES also \
                          depends on the machine and on what else runs, less so with --workers 1";

const WHAT: &str = "--dataset DIR has mini_dev_sqlite.json or dev.json (a list of objects with db_id, SQL and \
                    difficulty) and dev_databases/ID/ID.sqlite; --questions FILE names another file of questions";

const DATABASES: &str = "--databases DIR has a folder for each database, DIR/ID/ID.sqlite [default: dev_databases of \
                         the data]";

const PREDICTIONS: &str = "--predictions FILE is a JSON object: {\"0\": \"SQL\\t----- bird -----\\tdb_id\", ...}";

/// An entry of BIRD's questions; what else stands there is not needed.
#[derive(Deserialize)]
struct Question {
    question_id: Option<Json>,
    db_id: String,
    #[serde(rename = "SQL")]
    gold: String,
    difficulty: Option<String>,
}

/// The levels of the published tables; others are appended.
const DIFFICULTIES: [&str; 3] = ["simple", "moderate", "challenging"];
const UNRATED: &str = "unrated";

/// True where a folder has questions.
pub fn is_in(folder: &Path) -> bool {
    questions_path(folder, None).exists()
}

/// Judges a file of predictions.
pub(super) fn measure(submission: &SqlSubmission<'_>, progress: &mut SendProgress<'_>) -> Result<SqlScores> {
    let SqlSubmission { dataset: folder, predictions: path, iterations, ref pool, .. } = *submission;
    files::folder(folder, WHAT)?;
    let questions_path = questions_path(folder, submission.questions);
    let questions: Vec<Question> = entries::values(&questions_path, WHAT)?;
    if questions.is_empty() {
        let place = questions_path.display().to_string();
        return Err(Error::data(place, "there are no questions").with_hint(WHAT));
    }
    let predicted = predicted(path, &questions, &questions_path)?;
    let root = submission.databases.map_or_else(|| folder.join("dev_databases"), Path::to_path_buf);
    files::folder(&root, DATABASES)?;
    let ids = questions.iter().map(|one| one.db_id.as_str());
    let databases = QuestionDatabases::open(&root, ids, DatabaseFiles::Named, progress)?;
    // All figures of this benchmark come from execution.
    databases.refuse_none(&root, DATABASES)?;
    let asked = |(question, prediction): (&Question, &String)| {
        let source = databases.sources(&question.db_id).pop()?;
        Some(BirdQuestion { gold: question.gold.clone(), prediction: prediction.clone(), source })
    };
    let asked: Vec<Option<BirdQuestion>> = questions.iter().zip(&predicted).map(asked).collect();
    let is_asked: Vec<bool> = asked.iter().map(Option::is_some).collect();
    let runs: Vec<BirdQuestion> = asked.into_iter().flatten().collect();
    let total = runs.len();
    let mut done = |done| progress(Progress::new("running predictions", done, total));
    let verdicts = judge(pool, &runs, iterations, &mut done)?;
    let mut verdicts = verdicts.into_iter();
    let verdicts: Vec<Option<BirdVerdict>> =
        is_asked.into_iter().map(|is_asked| if is_asked { verdicts.next() } else { None }).collect();
    let options = SqlOptions {
        timeout_seconds: pool.limits().timeout.as_secs_f64(),
        iterations: Some(iterations),
        workers: Some(pool.workers()),
        ..SqlOptions::default()
    };
    let inputs =
        SqlInputs { questions: files::hashed(&questions_path)?, predictions: files::hashed(path)?, tables: None };
    Ok(scores(&questions, &verdicts, &databases, options, inputs))
}

fn questions_path(folder: &Path, named: Option<&Path>) -> PathBuf {
    match named {
        Some(named) => files::within(folder, named),
        None => {
            let names = ["mini_dev_sqlite.json", "dev.json", "mini_dev_sqlite.jsonl"];
            let there = names.iter().map(|name| folder.join(name)).find(|path| path.exists());
            there.unwrap_or_else(|| folder.join(names[0]))
        }
    }
}

/// Predictions in the order of the questions. The published evaluator pairs them by their places alone, with the last of
/// those that share a key; here keys that are no numbers, do not ascend or come twice, predictions that are no text, and
/// names of other databases, are refused.
fn predicted(path: &Path, questions: &[Question], questions_path: &Path) -> Result<Vec<String>> {
    let hint = || format!("predictions stand in the order of the questions; {PREDICTIONS}");
    let members = entries::members::<Json>(path, PREDICTIONS)?;
    let mut numbers: Vec<(u64, usize)> = Vec::new();
    let mut lines: HashMap<u64, usize> = HashMap::new();
    for JsonEntry { line, value: (key, prediction) } in &members {
        let refused = |message: String| Error::at(path, line, message).with_hint(hint());
        let number: u64 = key.parse().map_err(|_| refused(format!("the key `{key}` is no number")))?;
        if let Some(first) = lines.insert(number, *line) {
            return Err(refused(format!("the key `{key}` is there twice, first on line {first}")));
        }
        if !prediction.is_string() {
            let message = format!("the prediction `{key}` is {prediction}, expected a text");
            let hint = format!("\"\" is a prediction of nothing, which counts as wrong; {PREDICTIONS}");
            return Err(Error::at(path, line, message).with_hint(hint));
        }
        numbers.push((number, *line));
    }
    let expected = ExpectedPredictions {
        benchmark: SqlBenchmark::Bird,
        questions: questions_path,
        db_ids: Vec::new(),
        count: questions.len(),
    };
    check_count(path, members.len(), "predictions", &expected)?;
    if let Some(pair) = numbers.windows(2).find(|pair| pair[0].0 > pair[1].0) {
        let message = format!("the key `{}` stands behind `{}`", pair[1].0, pair[0].0);
        return Err(Error::data(format!("{}:{}", path.display(), pair[1].1), message).with_hint(hint()));
    }
    let entries: Vec<&Json> = members.iter().map(|JsonEntry { value: (_, prediction), .. }| prediction).collect();
    for (at, (entry, question)) in entries.iter().zip(questions).enumerate() {
        let db_id = entry.as_str().and_then(|entry| entry.rsplit_once(SEPARATOR)).map(|(_, id)| id.trim());
        if let Some(db_id) = db_id.filter(|db_id| *db_id != question.db_id) {
            let place = format!("{}: entry {at}", path.display());
            let message = format!("the database is `{db_id}`, but the question asks `{}`", question.db_id);
            return Err(Error::data(place, message).with_hint(hint()));
        }
    }
    Ok(entries.into_iter().map(prediction).collect())
}

fn status_of(verdict: &BirdVerdict) -> PredictionStatus {
    match (verdict.status, verdict.message.as_deref()) {
        (Some(Executed::SqlError), Some(message)) if status::is_no_sql(message) => PredictionStatus::ParseError,
        (Some(status), _) => status.into(),
        // A gold query that cannot be run counts as wrong, as it does for the published evaluator.
        (None, _) => PredictionStatus::Wrong,
    }
}

fn scores(
    questions: &[Question],
    verdicts: &[Option<BirdVerdict>],
    databases: &QuestionDatabases,
    options: SqlOptions,
    inputs: SqlInputs,
) -> SqlScores {
    let level = |question: &Question| question.difficulty.clone().unwrap_or_else(|| UNRATED.to_owned());
    let names = DIFFICULTIES.map(str::to_owned).into_iter().chain(questions.iter().map(level));
    let mut levels = LevelScores::new(&MEASURES, distinct(names));
    for (question, verdict) in questions.iter().zip(verdicts) {
        let right = |verdict: &BirdVerdict| counted(verdict.status == Some(Executed::Correct));
        let one = |of: &dyn Fn(&BirdVerdict) -> Option<f64>| verdict.as_ref().and_then(of);
        let values = [
            one(&|verdict| Some(right(verdict))),
            one(&|verdict| Some(verdict.soft_f1)),
            one(&|verdict| verdict.reward.map(|reward| ves(&[reward]))),
        ];
        levels.add(Some(&level(question)), &values);
    }
    let statuses: Vec<PredictionStatus> = verdicts.iter().flatten().map(status_of).collect();
    let gold_failed = verdicts.iter().flatten().filter(|verdict| verdict.status.is_none()).count();
    let without = verdicts.iter().filter(|verdict| verdict.is_none()).count();
    let mut blocks = vec![
        ReportBlock::Line(format!("bird: {} questions, bird-ex, bird-soft-f1, bird-r-ves", questions.len())),
        ReportBlock::Table(levels.header("difficulty"), levels.rows()),
        ReportBlock::Line(String::new()),
        ReportBlock::Line(status::line(&statuses)),
        ReportBlock::Line(databases.line(without)),
    ];
    if gold_failed > 0 {
        blocks.push(ReportBlock::Line(format!(
            "gold        {gold_failed} gold queries cannot be run; they count as wrong"
        )));
    }
    blocks.push(ReportBlock::Line(format!("compare     {COMPARABLE}")));
    let question = |(index, (question, verdict)): (usize, (&Question, &Option<BirdVerdict>))| {
        SqlVerdict::Bird(BirdQuestionVerdict {
            index,
            id: question.question_id.clone(),
            db_id: question.db_id.clone(),
            difficulty: question.difficulty.clone(),
            ex: verdict.as_ref().map(|verdict| verdict.status == Some(Executed::Correct)),
            soft_f1: verdict.as_ref().map(|verdict| verdict.soft_f1),
            reward: verdict.as_ref().and_then(|verdict| verdict.reward),
            status: verdict.as_ref().map(status_of),
            message: verdict.as_ref().map_or_else(|| Some(NO_DATABASE.to_owned()), |verdict| verdict.message.clone()),
        })
    };
    let protocol = [("ex", "bird-ex"), ("soft_f1", "bird-soft-f1"), ("r_ves", "bird-r-ves")];
    let record = SqlRecord {
        benchmark: SqlBenchmark::Bird.name(),
        wb: env!("CARGO_PKG_VERSION"),
        protocol: protocol.map(|(metric, name)| (metric.to_owned(), name.to_owned())).into(),
        compat: None,
        options,
        comparable: Some(COMPARABLE),
        inputs,
        databases: Some(databases.record()),
        totals: levels.record(),
        clauses: IndexMap::new(),
        domains: IndexMap::new(),
        statuses: status::counts(&statuses),
        counts: SqlCounts {
            questions: questions.len(),
            without_database: Some(without),
            gold_failed,
            ..SqlCounts::default()
        },
        questions: questions.iter().zip(verdicts).enumerate().map(question).collect(),
    };
    let mut metrics = levels.figures();
    // Of R-VES, which goes to 125, a fraction can be required.
    metrics.iter_mut().filter(|figure| figure.name == "r_ves").for_each(|figure| {
        figure.value = figure.value.map(|score| score / 100.0);
    });
    SqlScores { benchmark: SqlBenchmark::Bird, blocks, record, metrics }
}
