//! A whole run, killed again and again at any moment: nothing of its result tells of it.
#![cfg(unix)]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    curriculum::staged,
    sandbox::{Sandbox, TRANSFORMER, assert_same, result},
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
