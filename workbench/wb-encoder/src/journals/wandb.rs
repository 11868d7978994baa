//! A run as Weights & Biases has it, in JSON lines: what `run.history()` gives, its summary, its config.
//!
//! W&B's own offline file (`run-*.wandb`) is a LevelDB log of messages that change from release to release, and only
//! `wandb sync` reads it. The rows here are those that `wandb-history.jsonl` holds: one JSON object a step with `_step`
//! and the values logged at it. `_runtime` and `_timestamp`, which W&B sets by its clock, are left to W&B: the
//! journals have no clock. `runs/README.md` has the few lines that log them into a run.

use std::path::Path;

use serde_json::{Map, Value, json};
use wb_core::{Error, Result, atomic};

use super::rows::Rows;

/// Writes `wandb-history.jsonl`, `wandb-summary.json` and `config.yaml`.
pub(super) fn write(rows: &Rows, config: &Map<String, Value>, folder: &Path) -> Result<()> {
    let mut history = Vec::new();
    let mut summary = Map::new();
    for row in &rows.0 {
        let mut line = Map::from_iter([("_step".to_owned(), json!(row.step))]);
        line.extend(row.values.iter().cloned());
        // The summary is the last value of each, as W&B makes it.
        summary.extend(line.clone());
        history.extend(to_json(&line)?);
        history.push(b'\n');
    }
    atomic::write(&folder.join("wandb-history.jsonl"), &history)?;
    atomic::write(&folder.join("wandb-summary.json"), &to_json(&summary)?)?;
    let mut keys = Map::from_iter([("wandb_version".to_owned(), json!(1))]);
    keys.extend(config.iter().map(|(key, value)| (key.clone(), json!({"desc": null, "value": value}))));
    atomic::write(&folder.join("config.yaml"), wb_core::config::to_text(&keys)?.as_bytes())
}

fn to_json(map: &Map<String, Value>) -> Result<Vec<u8>> {
    serde_json::to_vec(map).map_err(|error| Error::data("journal", error.to_string()))
}
