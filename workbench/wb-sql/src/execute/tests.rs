//! Texts and results against the published evaluator: golden files made by `scripts/golden-sql-execution.py`.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::Value as Json;

use super::{CellValue, Equality, ResultTable, compare, plug, texts};
use crate::{Compat, bird};

fn golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn json_lines(name: &str) -> Vec<Json> {
    golden(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The value that a letter of the golden files stands for.
fn value(letter: char) -> CellValue {
    let text = |text: &str| CellValue::Text(text.to_owned());
    match letter {
        'A' => CellValue::Int(1),
        'B' => CellValue::Real(1.0),
        'C' => text("1"),
        'D' => CellValue::Null,
        'E' => CellValue::Blob(b"1".to_vec()),
        'F' => CellValue::Real(1.5),
        'G' => text("1.0"),
        'H' => CellValue::Int(0),
        'I' => CellValue::Real(0.0),
        'J' => CellValue::Real(-0.0),
        'K' => CellValue::Int(2),
        'L' => CellValue::Real(2.0),
        'M' => CellValue::Int(10),
        'N' => CellValue::Real(1e16),
        'O' => CellValue::Int(10_000_000_000_000_000),
        'P' => text(""),
        'Q' => CellValue::Blob(Vec::new()),
        'R' => text("a"),
        'S' => text("None"),
        'T' => CellValue::Int((1 << 53) + 1),
        'U' => CellValue::Real(9_007_199_254_740_992.0),
        'V' => CellValue::Real(1e-5),
        'W' => CellValue::Real(f64::INFINITY),
        'X' => CellValue::Int(-1),
        'Y' => CellValue::Real(-1.0),
        'Z' => text("é"),
        'a' => text("1<class 'int'>"),
        'b' => CellValue::Blob(b"\x00\xff'".to_vec()),
        'c' => CellValue::Int(i64::MAX),
        'd' => CellValue::Real(9_223_372_036_854_775_808.0),
        'e' => CellValue::Real(10.0),
        'f' => CellValue::Real(1e22),
        'g' => CellValue::Int(100),
        'h' => CellValue::Real(100.0),
        'i' => text("10"),
        other => panic!("no value for {other}"),
    }
}

fn table(letters: &str) -> ResultTable {
    let rows = letters.split(',').filter(|row| !row.is_empty());
    ResultTable::of(rows.map(|row| row.chars().map(value).collect()).collect())
}

#[test]
fn results_are_equal_as_the_evaluator_says() {
    let text = golden("execution-results.txt");
    let (mut equal, mut mended) = (0, 0);
    for line in text.lines() {
        let (flags, tables) = line.split_at(4);
        let (order, expected) = (flags.starts_with('1'), flags.ends_with("1 "));
        let (one, other) = tables.split_once('|').unwrap();
        let (one, other) = (table(one), table(other));
        let found = compare(&one, &other, order, Compat::Official);
        assert_eq!(found, if expected { Equality::Equal } else { Equality::Different }, "{line}");
        let strict = compare(&one, &other, order, Compat::Strict);
        assert!(!expected || strict == Equality::Equal, "strict refuses {line}");
        equal += usize::from(expected);
        mended += usize::from(strict == Equality::Equal && !expected);
    }
    assert!(equal > 5000 && text.lines().count() >= 12_000);
    assert!(mended > 20, "the quick reject of mixed numbers is met in {mended} pairs");
}

#[test]
fn distinct_goes_as_the_evaluator_takes_it() {
    for line in json_lines("execution-texts.jsonl") {
        let text = line["text"].as_str().unwrap();
        assert_eq!(texts::without_distinct(text).as_deref(), line["without"].as_str(), "{text:?}");
    }
}

#[test]
fn values_are_plugged_as_the_evaluator_plugs_them() {
    for line in json_lines("execution-plugs.jsonl") {
        let (gold, prediction) = (line["gold"].as_str().unwrap(), line["prediction"].as_str().unwrap());
        let found: BTreeSet<String> = plug::combinations(gold, prediction).collect();
        let expected: BTreeSet<String> =
            line["all"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect();
        assert_eq!(found, expected, "{gold:?} into {prediction:?}");
    }
}

#[test]
fn scores_of_bird_are_its_evaluators() {
    for line in json_lines("bird.jsonl") {
        if let (Some(gold), Some(prediction)) = (line["gold"].as_str(), line["prediction"].as_str()) {
            let (gold, prediction) = (table(gold), table(prediction));
            assert_eq!(bird::same_set(&gold, &prediction), line["ex"] == 1, "{line}");
            let found = bird::soft_f1(&gold, &prediction);
            assert!((found - line["f1"].as_f64().unwrap()).abs() < 1e-12, "{found} for {line}");
        } else {
            let numbers = |key: &str| -> Vec<f64> {
                line[key].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
            };
            if line.get("rewards").is_some() {
                let found = bird::ves(&numbers("rewards"));
                assert!((found - line["ves"].as_f64().unwrap()).abs() < 1e-9, "{found} for {line}");
                continue;
            }
            let found = bird::reward(&numbers("gold_times"), &numbers("predicted_times"));
            assert!((found - line["reward"].as_f64().unwrap()).abs() < 1e-15, "{found} for {line}");
        }
    }
}
