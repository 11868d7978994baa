//! Journals in other tools' formats against what those tools' own libraries write and read.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use super::*;

fn golden() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/journals")
}

fn write(metrics: &Path, validation: &Path, run: &Path) {
    let config = Map::from_iter([("name".to_owned(), json!("tiny")), ("train".to_owned(), json!({"epochs": 2}))]);
    let journals = Journals { metrics, validation, started: 1_763_769_600.0, config: &config };
    journals.write(&[JournalFormat::Tensorboard, JournalFormat::Wandb], run).unwrap();
}

/// `scripts/golden-journals.py` writes the same journals by tensorboard's own messages and records.
#[test]
fn event_files_are_tensorboard_s_to_the_last_byte() {
    let run = tempfile::tempdir().unwrap();
    write(&golden().join("metrics.jsonl"), &golden().join("validation.jsonl"), run.path());
    let name = "events.out.tfevents.1763769600.wb";
    let found = fs::read(run.path().join("tensorboard").join(name)).unwrap();
    assert_eq!(found, fs::read(golden().join(name)).unwrap());
    assert_eq!(fs::read_dir(run.path().join("tensorboard")).unwrap().count(), 1);
}

#[test]
fn rows_of_a_step_are_one_row_and_keep_every_digit() {
    let run = tempfile::tempdir().unwrap();
    write(&golden().join("metrics.jsonl"), &golden().join("validation.jsonl"), run.path());
    let read = |name: &str| fs::read_to_string(run.path().join("wandb").join(name)).unwrap();
    let rows: Vec<Value> =
        read("wandb-history.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps: Vec<u64> = rows.iter().map(|row| row["_step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [0, 1, 2, 3, 4]);
    let journal = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(golden().join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let mut values = 0;
    for (name, file) in [("train", "metrics.jsonl"), ("validation", "validation.jsonl")] {
        for record in journal(file) {
            let row = rows.iter().find(|row| row["_step"] == record["step"]).unwrap();
            for (key, value) in record.as_object().unwrap().iter().filter(|(key, _)| *key != "step") {
                assert_eq!(&row[format!("{name}/{key}")], value, "{name} {key}");
                values += 1;
            }
        }
    }
    let in_rows: usize = rows.iter().map(|row| row.as_object().unwrap().len() - 1).sum();
    assert_eq!(values, in_rows);
    let summary: Value = serde_json::from_str(&read("wandb-summary.json")).unwrap();
    assert_eq!((&summary["_step"], &summary["validation/mrr"]), (&json!(4), &rows[4]["validation/mrr"]));
    assert_eq!(
        read("config.yaml"),
        "wandb_version: 1\nname:\n  desc: null\n  value: tiny\ntrain:\n  desc: null\n  value:\n    epochs: 2\n"
    );
}

/// After a kill and a resume the journal is shorter for a while, or ends in half a line.
#[test]
fn written_again_they_say_what_the_journal_says_then() {
    let place = tempfile::tempdir().unwrap();
    let (metrics, validation) = (place.path().join("metrics.jsonl"), place.path().join("validation.jsonl"));
    let line =
        |step: u64| format!("{{\"step\":{step},\"loss\":0.{step},\"parts\":{{\"a\":1}},\"ids\":[1],\"note\":\"x\"}}\n");
    let all: String = (1..=5).map(line).collect();
    let steps = || {
        let text = fs::read_to_string(place.path().join("wandb/wandb-history.jsonl")).unwrap();
        text.lines().count()
    };
    // Neither journal is there yet.
    write(&metrics, &validation, place.path());
    assert_eq!(steps(), 0);
    fs::write(&metrics, format!("{all}{{\"step\":6,\"lo")).unwrap();
    write(&metrics, &validation, place.path());
    assert_eq!(steps(), 5);
    let whole = fs::read(place.path().join("tensorboard/events.out.tfevents.1763769600.wb")).unwrap();
    fs::write(&metrics, (1..=3).map(line).collect::<String>()).unwrap();
    write(&metrics, &validation, place.path());
    assert_eq!(steps(), 3);
    fs::write(&metrics, &all).unwrap();
    write(&metrics, &validation, place.path());
    assert_eq!(fs::read(place.path().join("tensorboard/events.out.tfevents.1763769600.wb")).unwrap(), whole);
    let first = fs::read_to_string(place.path().join("wandb/wandb-history.jsonl")).unwrap();
    let expected = r#"{"_step":1,"train/loss":0.1,"train/parts/a":1,"train/ids":[1],"train/note":"x"}"#;
    assert_eq!(first.lines().next(), Some(expected));
    fs::write(&metrics, "{\"step\":1}\nnonsense\n").unwrap();
    let config = Map::new();
    let journals = Journals { metrics: &metrics, validation: &validation, started: 0.0, config: &config };
    let error = journals.write(&[JournalFormat::Wandb], place.path()).unwrap_err().to_string();
    assert!(error.contains("metrics.jsonl:2: not a record"), "{error}");
}
