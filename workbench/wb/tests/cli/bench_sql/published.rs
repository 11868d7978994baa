//! Spider's own data and predictions of five systems, through the command: the published evaluator's verdicts.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Spider's data, or a counted skip.
fn spider(test: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("WB_SHARED").map_or_else(beside, PathBuf::from).join("data/spider");
    if folder.is_dir() {
        return Some(folder.canonicalize().unwrap());
    }
    let reason = format!("no shared data at {}; set WB_SHARED to its folder", folder.display());
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
    None
}

#[test]
fn verdicts_on_five_systems_are_the_published_ones() {
    let Some(data) = spider("verdicts_on_five_systems_are_the_published_ones") else { return };
    let sandbox = Sandbox::new();
    let dataset = data.to_str().unwrap();
    for system in ["codes_1b", "dailsql_gpt4", "dinsql_gpt4", "graphix_result", "tse_dev_10"] {
        let predictions = data.join(format!("predictions/{system}.txt"));
        let predictions = predictions.to_str().unwrap();
        let base = ["bench", "spider", "--dataset", dataset, "--predictions", predictions, "--json", "out.json"];
        sandbox.succeeds(&base);
        let written = sandbox.json("out.json");
        let questions = written["questions"].as_array().unwrap();
        let verdicts = fs::read_to_string(data.join(format!("verdicts/{system}.jsonl"))).unwrap();
        let verdicts: Vec<Value> = verdicts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(questions.len(), verdicts.len());
        for (at, (question, verdict)) in questions.iter().zip(&verdicts).enumerate() {
            let number = |key: &str| u8::from(question[key].as_bool().unwrap());
            let ours = json!({
                "db_id": question["db_id"],
                "hardness": question["hardness"],
                "em": number("em"),
                "ex": number("ex"),
                "pred_parse_error": 1 - number("parsed"),
            });
            assert_eq!(&ours, verdict, "{system}, line {}: {question}", at + 1);
            assert_eq!(question["index"], at);
            assert_eq!(question["status"] == "correct", question["ex"] == true);
        }
        let sum = |key: &str| verdicts.iter().filter(|verdict| verdict[key] == 1).count();
        let all = &written["totals"]["all"];
        assert_eq!((&all["em"]["right"], &all["ex"]["right"]), (&json!(sum("em")), &json!(sum("ex"))));
    }
}

#[test]
fn gold_as_prediction_is_right() {
    let Some(data) = spider("gold_as_prediction_is_right") else { return };
    let sandbox = Sandbox::new();
    let gold = data.join("dev_gold.sql");
    let base = ["bench", "spider", "--dataset", data.to_str().unwrap(), "--predictions", gold.to_str().unwrap()];
    for compat in ["official", "strict"] {
        sandbox.succeeds(&[&base[..], &["--compat", compat, "--require", "em=1", "--require", "ex=1"]].concat());
    }
}
