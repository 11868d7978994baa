//! A whole run, killed again and again at any moment: nothing of its result tells of it.
#![cfg(unix)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    curriculum::staged,
    sandbox::{Sandbox, TRANSFORMER, without_seconds},
};

const KILLS: usize = 20;

/// Mines, switches the stage and its data sets, mines again with the weights of the moment, accumulates and averages.
const EVENTFUL: [&str; 12] = [
    "run",
    "staged.yaml",
    TRANSFORMER,
    "encoder.max_tokens={query: 32, document: 64}",
    "negatives={mode: naive, per_pair: 3, retriever: bm25}",
    "train.refresh={every: {steps: 9}}",
    "train.batch={pairs: 8, accumulate: 2}",
    "train.ema=0.9",
    "train.epochs=20",
    "train.validate.every={steps: 5}",
    "journals=[tensorboard]",
    "--runs",
];

#[test]
#[ignore = "takes a minute; the slow step of scripts/ci.sh runs it"]
fn a_run_killed_twenty_times_ends_in_the_same_bytes() {
    let sandbox = Sandbox::new();
    staged(&sandbox);
    let arguments = |runs: &'static str| [&EVENTFUL[..], &[runs]].concat();
    let started = Instant::now();
    sandbox.succeeds(&arguments("reference"));
    // So that kills fall anywhere in a run, however slow the machine is at the moment.
    let as_long = started.elapsed().as_millis() as u64;
    let reference = result(&sandbox.only_run("reference"));
    for needed in ["encoder/model.safetensors", "metrics.jsonl", "bench/pairs-trained.json", "verdict.json"] {
        assert!(reference.contains_key(needed), "{needed}: {:?}", reference.keys());
    }
    assert!(reference.keys().any(|name| name.ends_with("optimizer.safetensors")), "{:?}", reference.keys());

    // Delays that no two starts share; a run that ends is begun anew.
    let (mut kills, mut starts, mut places) = (0, 0u64, Vec::new());
    for round in 0.. {
        if kills >= KILLS {
            break;
        }
        let runs: &'static str = format!("killed-{round}").leak();
        // What mining has kept is mined again, so that it is killed too.
        fs::remove_dir_all(sandbox.path("datasets")).unwrap();
        loop {
            let mut child = sandbox.start(&arguments(runs));
            starts += 1;
            std::thread::sleep(Duration::from_millis(starts * 104_729 % as_long));
            let ended = if kills < KILLS { child.try_wait().unwrap() } else { Some(child.wait().unwrap()) };
            if let Some(status) = ended {
                assert!(status.success(), "{status}");
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            places.push(steps(&sandbox.path(runs)));
        }
        assert_same(&reference, &result(&sandbox.only_run(runs)), kills);
    }
    places.sort_unstable();
    places.dedup();
    println!("killed after so many steps: {places:?}");
    assert!(places.len() > 3, "killed in the same places always: {places:?}");
}

/// How many steps the only run under a folder has written down; 0 where there is none yet.
fn steps(runs: &Path) -> usize {
    let journals = fs::read_dir(runs).into_iter().flatten().flatten().map(|run| run.path().join("metrics.jsonl"));
    journals.filter_map(|journal| fs::read_to_string(journal).ok()).map(|text| text.lines().count()).sum()
}

/// The files of a run that say what came out, without the times in them.
pub fn result(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(run.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(name);
                continue;
            }
            // When it was started, by whom, and what has been done.
            if ["manifest.json", "lock", "DONE"].iter().any(|own| name == Path::new(own)) {
                continue;
            }
            let bytes = fs::read(entry.path()).unwrap();
            files.insert(name.display().to_string(), timeless(&name, bytes));
        }
    }
    files
}

fn timeless(name: &Path, bytes: Vec<u8>) -> Vec<u8> {
    let text = || String::from_utf8(bytes.clone()).unwrap();
    let strip = |text: &str| {
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        without_seconds(&mut value);
        value.to_string()
    };
    match name.extension().and_then(|ending| ending.to_str()) {
        Some("jsonl") => text().lines().map(strip).collect::<Vec<_>>().join("\n").into_bytes(),
        Some("json") => strip(&text()).into_bytes(),
        _ => bytes,
    }
}

/// Runs a training in `reference/`, and once more in `runs/`, killed at its first checkpoint and at its third: both have to
/// end in the same bytes. Gives the run.
pub fn killed_ends_in_the_same_bytes(sandbox: &Sandbox, arguments: &[&str]) -> PathBuf {
    sandbox.succeeds(&[arguments, &["--runs", "reference"]].concat());
    let reference = result(&sandbox.only_run("reference"));
    for checkpoints in [0, 2] {
        let mut child = sandbox.start(arguments);
        sandbox.wait_for("checkpoint", || sandbox.checkpoints("runs") > checkpoints);
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "it was over before it was killed");
    }
    sandbox.succeeds(arguments);
    let run = sandbox.only_run("runs");
    assert_same(&reference, &result(&run), 2);
    run
}

pub fn assert_same(reference: &BTreeMap<String, Vec<u8>>, found: &BTreeMap<String, Vec<u8>>, kills: usize) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(reference), "after {kills} kills");
    for (name, bytes) in reference {
        assert!(found[name] == *bytes, "{name} differs after {kills} kills");
    }
}
