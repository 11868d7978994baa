//! The same verdicts as the published evaluator, on predictions of five systems and on gold queries.

use std::{collections::HashMap, path::Path};

use serde_json::Value as Json;
use wb_sql::{
    Compat,
    execute::{DatabaseSource, ExecutionJudge, JudgeOptions, Judgement, QueryPair, prediction_of_line},
};

use crate::support::{busy, lines, pool, shared, skipped, sources};

const SYSTEMS: [&str; 5] = ["codes_1b", "dailsql_gpt4", "dinsql_gpt4", "graphix_result", "tse_dev_10"];

/// Gold queries with their databases; pairs of a query and a database's name, separated by a tab.
fn gold(spider: &Path, file: &str) -> Vec<(String, String)> {
    let pair = |line: String| {
        let (sql, id) = line.trim().split_once('\t').unwrap();
        (sql.to_owned(), id.to_owned())
    };
    lines(&spider.join(file)).into_iter().map(pair).collect()
}

fn questions(spider: &Path, gold: &[(String, String)], predictions: &[String]) -> Vec<QueryPair> {
    let mut known: HashMap<String, Vec<DatabaseSource>> = HashMap::new();
    let pairs = gold.iter().zip(predictions);
    pairs
        .map(|((gold, id), prediction)| QueryPair {
            gold: gold.clone(),
            prediction: prediction.clone(),
            sources: known.entry(id.clone()).or_insert_with(|| sources(spider, id)).clone(),
        })
        .collect()
}

fn judged(questions: &[QueryPair], compat: Compat, workers: usize) -> Vec<Judgement> {
    let judge = ExecutionJudge::new(pool(20.0, workers), JudgeOptions { compat, ..JudgeOptions::default() });
    judge.judge(questions, &mut |_| {}).unwrap()
}

#[test]
fn published_verdicts_are_reproduced() {
    let _busy = busy();
    let Some(spider) = shared("published_verdicts_are_reproduced") else { return };
    let gold = gold(&spider, "dev_gold.sql");
    let mut differences = Vec::new();
    for system in SYSTEMS {
        let predictions: Vec<String> = lines(&spider.join(format!("predictions/{system}.txt")))
            .iter()
            .map(|line| prediction_of_line(line, Compat::Official))
            .collect();
        let questions = questions(&spider, &gold, &predictions);
        let verdicts = lines(&spider.join(format!("verdicts/{system}.jsonl")));
        assert_eq!(questions.len(), verdicts.len());
        let begin = std::time::Instant::now();
        let judgements = judged(&questions, Compat::Official, 2);
        println!("{system}: {:?}", begin.elapsed());
        for (at, (judgement, verdict)) in judgements.iter().zip(&verdicts).enumerate() {
            let verdict: Json = serde_json::from_str(verdict).unwrap();
            if judgement.correct() != Some(verdict["ex"] == 1) {
                differences.push((system, at, judgement.clone(), questions[at].clone()));
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

/// Lines of the training set's gold queries that SQLite cannot run, faults of Spider itself: a table that is not there,
/// and `ORDER BY` before `INTERSECT`.
const FAULTY: [usize; 3] = [4397, 5938, 5939];

#[test]
fn gold_queries_are_right() {
    let _busy = busy();
    let Some(spider) = shared("gold_queries_are_right") else { return };
    for (file, faulty) in [("dev_gold.sql", &[][..]), ("train/train_gold.sql", &FAULTY[..])] {
        let gold: Vec<_> = gold(&spider, file);
        // A space more, so that it is run and compared as any other text.
        let texts: Vec<String> = gold.iter().map(|(sql, _)| format!("{sql} ")).collect();
        let questions = questions(&spider, &gold, &texts);
        let there: Vec<usize> = (0..questions.len()).filter(|&at| !questions[at].sources.is_empty()).collect();
        println!("{file}: {} of {} with a database", there.len(), questions.len());
        for compat in [Compat::Official, Compat::Strict] {
            let begin = std::time::Instant::now();
            let some: Vec<QueryPair> = there.iter().map(|&at| questions[at].clone()).collect();
            let judgements = judged(&some, compat, 2);
            println!("{file} {compat:?}: {:?}", begin.elapsed());
            let not: Vec<_> = there
                .iter()
                .zip(&judgements)
                .filter(|(_, judgement)| judgement.correct() != Some(true))
                .map(|(at, judgement)| (*at, judgement, &gold[*at]))
                .collect();
            let ids: Vec<usize> = not.iter().map(|(at, ..)| *at).collect();
            assert_eq!(ids, faulty, "{not:#?}");
        }
    }
}

/// A line of a file of pairs with the evaluator's verdicts.
fn case(line: &str) -> (Json, JudgeOptions) {
    let case: Json = serde_json::from_str(line).unwrap();
    let flag = |key: &str| case[key].as_bool().unwrap();
    let options = JudgeOptions { compat: Compat::Official, plug_value: flag("plug"), keep_distinct: flag("keep") };
    (case, options)
}

/// What SQLite has learned to refuse since 3.40.1, with which the verdicts are made.
const NEWER_SQLITE: &str = "ON clause references tables to its right";

/// Judges cases with their own options; what differs from the verdicts is returned, but for the version of SQLite.
fn differences(cases: &[(Json, JudgeOptions)], sources: impl Fn(&Json) -> Vec<DatabaseSource>) -> Vec<String> {
    let mut different = Vec::new();
    for plug_value in [false, true] {
        for keep_distinct in [false, true] {
            let options = JudgeOptions { compat: Compat::Official, plug_value, keep_distinct };
            let some: Vec<&Json> = cases.iter().filter(|(_, own)| *own == options).map(|(case, _)| case).collect();
            let text = |case: &Json, key: &str| case[key].as_str().unwrap().to_owned();
            let questions: Vec<QueryPair> = some
                .iter()
                .map(|case| QueryPair {
                    gold: text(case, "gold"),
                    prediction: text(case, "prediction"),
                    sources: sources(case),
                })
                .collect();
            let judgements = ExecutionJudge::new(pool(20.0, 2), options).judge(&questions, &mut |_| {}).unwrap();
            for (case, judgement) in some.iter().zip(judgements) {
                let same = match &case["verdict"] {
                    Json::String(gold) if gold == "gold" => judgement.status.is_none(),
                    Json::String(_) => judgement.correct() == Some(false),
                    verdict => judgement.correct() == Some(*verdict == 1),
                };
                if judgement.message.as_deref().is_some_and(|message| message.ends_with(NEWER_SQLITE)) {
                    println!("another version of SQLite: {case}");
                } else if !same {
                    different.push(format!("{case}\n    {judgement:?}"));
                }
            }
        }
    }
    different
}

/// Made-up queries on a made-up database, changed a little; the verdicts are the evaluator's.
#[test]
fn changed_queries_get_the_evaluators_verdicts() {
    let _busy = busy();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/execution-queries.jsonl");
    let lines = lines(&path);
    let script: Json = serde_json::from_str(&lines[0]).unwrap();
    let cases: Vec<_> = lines[1..].iter().map(|line| case(line)).collect();
    assert!(cases.len() >= 2000);
    let script = DatabaseSource::Script(script["script"].as_str().unwrap().to_owned());
    let different = differences(&cases, |_| vec![script.clone()]);
    assert!(different.is_empty(), "{} of {}: {}", different.len(), cases.len(), different.join("\n"));
}

/// The same on Spider's databases; the file is made by `scripts/golden-sql-execution.py pairs`.
#[test]
fn mutated_queries_get_the_published_verdicts() {
    let _busy = busy();
    let test = "mutated_queries_get_the_published_verdicts";
    let Some(spider) = shared(test) else { return };
    let Some(file) = std::env::var_os("WB_SQL_PAIRS") else {
        return skipped(test, "no pairs; set WB_SQL_PAIRS to the file that scripts/golden-sql-execution.py makes");
    };
    let cases: Vec<_> = lines(Path::new(&file)).iter().map(|line| case(line)).collect();
    let known: std::sync::Mutex<HashMap<String, Vec<DatabaseSource>>> = std::sync::Mutex::default();
    let different = differences(&cases, |case| {
        let id = case["db_id"].as_str().unwrap().to_owned();
        known.lock().unwrap().entry(id.clone()).or_insert_with(|| sources(&spider, &id)).clone()
    });
    assert!(different.is_empty(), "{} of {}: {}", different.len(), cases.len(), different.join("\n"));
}
