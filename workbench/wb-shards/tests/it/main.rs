//! Plans and attempts against a folder and against a server of S3: equality, faults, races.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod attempts;
mod moto;
mod plans;
mod remote;
mod stores;

use std::collections::BTreeMap;

use serde_json::json;
use wb_shards::{PlannedBuild, PlannedInput, ShardPlan, Store};

/// The build of the tests' plans.
pub fn build() -> PlannedBuild {
    PlannedBuild { code: "0.1.0 abc".into(), features: vec!["hub".into()], device: "cpu".into() }
}

/// Rows of the tests' plans: each is a line of its input.
pub const ROWS: u64 = 50_000;

/// A line of the input.
pub fn line(row: u64) -> String {
    format!("row {row:08} {}\n", "x".repeat((row * 7919 % 23) as usize))
}

/// A plan over lines of a file, which is put into a place.
pub fn plan(work: &Store, shards: u64) -> ShardPlan {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines.txt");
    std::fs::write(&file, (0..ROWS).map(line).collect::<String>()).unwrap();
    let inputs = BTreeMap::from([("lines".to_owned(), PlannedInput::of_file(work, &file).unwrap())]);
    ShardPlan {
        stage: "hash".into(),
        build: build(),
        rows: ROWS,
        rows_per_shard: ROWS.div_ceil(shards),
        inputs,
        task: json!({"salt": 7}),
    }
}
