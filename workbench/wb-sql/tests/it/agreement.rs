//! The same verdicts as the published evaluator, on predictions of five systems and on gold queries.

use std::{collections::HashMap, path::Path};

use serde_json::Value as Json;
use wb_sql::{
    Compat,
    execute::{Judge, JudgeOptions, Judgement, Question, Source, prediction_of_line},
};

use crate::support::{lines, pool, shared, sources};

const SYSTEMS: [&str; 5] = ["codes_1b", "dailsql_gpt4", "dinsql_gpt4", "graphix_result", "tse_dev_10"];

/// Gold queries with their databases; pairs of a query and a database's name, separated by a tab.
fn gold(spider: &Path, file: &str) -> Vec<(String, String)> {
    let pair = |line: String| {
        let (sql, id) = line.trim().split_once('\t').unwrap();
        (sql.to_owned(), id.to_owned())
    };
    lines(&spider.join(file)).into_iter().map(pair).collect()
}

fn questions(spider: &Path, gold: &[(String, String)], predictions: &[String]) -> Vec<Question> {
    let mut known: HashMap<String, Vec<Source>> = HashMap::new();
    let pairs = gold.iter().zip(predictions);
    pairs
        .map(|((gold, id), prediction)| Question {
            gold: gold.clone(),
            prediction: prediction.clone(),
            sources: known.entry(id.clone()).or_insert_with(|| sources(spider, id)).clone(),
        })
        .collect()
}

fn judged(questions: &[Question], compat: Compat, workers: usize) -> Vec<Judgement> {
    let judge = Judge::new(pool(20.0, workers), JudgeOptions { compat, ..JudgeOptions::default() });
    judge.judge(questions, &mut |_| {}).unwrap()
}

#[test]
fn published_verdicts_are_reproduced() {
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
            let some: Vec<Question> = there.iter().map(|&at| questions[at].clone()).collect();
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
