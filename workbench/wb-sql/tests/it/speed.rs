//! Time beside the published evaluator, in turns on one core; ignored unless asked for.

use std::{collections::HashMap, path::Path, process::Command, time::Instant};

use serde_json::Value as Json;
use wb_sql::{
    Compat,
    execute::{DatabaseSource, ExecutionJudge, JudgeOptions, QueryPair, prediction_of_line},
};

use crate::support::{lines, pool, shared, skipped, sources};

/// Needs `WB_SUITE`, the evaluator's folder, and `WB_PYTHON` with sqlparse, tqdm and nltk; both sides run on the core
/// that this test is bound to (`taskset -c 0`).
#[test]
#[ignore = "a measurement, on a machine that does nothing else"]
fn execution_is_twenty_times_faster() {
    let test = "execution_is_twenty_times_faster";
    let Some(spider) = shared(test) else { return };
    let (Some(suite), Some(python)) = (std::env::var_os("WB_SUITE"), std::env::var_os("WB_PYTHON")) else {
        return skipped(test, "WB_SUITE and WB_PYTHON name the evaluator and what runs it");
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/golden-sql-execution.py");
    for system in ["codes_1b", "dailsql_gpt4", "dinsql_gpt4", "graphix_result", "tse_dev_10"] {
        let predictions = spider.join(format!("predictions/{system}.txt"));
        let output = Command::new(&python)
            .args(["-W", "ignore"])
            .arg(&script)
            .args(["time", "--suite"])
            .arg(&suite)
            .arg("--spider")
            .args([&spider, &predictions])
            .output()
            .unwrap();
        let theirs: Json = serde_json::from_slice(&output.stdout).unwrap();
        let begin = Instant::now();
        let gold = lines(&spider.join("dev_gold.sql"));
        let mut known: HashMap<String, Vec<DatabaseSource>> = HashMap::new();
        let question = |(gold, line): (&String, &String)| {
            let (gold, id) = gold.split_once('\t').unwrap();
            let prediction = prediction_of_line(line, Compat::Official);
            let sources = known.entry(id.to_owned()).or_insert_with(|| sources(&spider, id)).clone();
            QueryPair { gold: gold.to_owned(), prediction, sources }
        };
        let questions: Vec<QueryPair> = gold.iter().zip(&lines(&predictions)).map(question).collect();
        let judge = ExecutionJudge::new(pool(20.0, 1), JudgeOptions::default());
        let judgements = judge.judge(&questions, &mut |_| {}).unwrap();
        let ours = begin.elapsed().as_secs_f64();
        assert_eq!(judgements.len(), gold.len());
        let ratio = |key: &str| theirs[key].as_f64().unwrap() / ours;
        println!(
            "{system}: {ours:.3} s; the evaluator {:.2} s for execution ({:.0} times), {:.2} s with exact match ({:.0} times)",
            theirs["exec"].as_f64().unwrap(),
            ratio("exec"),
            theirs["all"].as_f64().unwrap(),
            ratio("all")
        );
        assert!(ratio("all") >= 20.0);
    }
}
