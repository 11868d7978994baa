//! Trainings that are stopped, killed, or started twice end with the weights of one that ran through.
#![cfg(unix)]

use std::{
    fs,
    process::{Child, Stdio},
};

use serde_json::Value;

use crate::sandbox::{Sandbox, TRANSFORMER, send, told, without_seconds};

/// Long enough to be interrupted.
const LONG: [&str; 7] = [
    "train",
    "tiny.yaml",
    "train.epochs=60",
    "train.validate.every={steps: 20}",
    TRANSFORMER,
    "encoder.max_tokens={query: 32, document: 64}",
    "journals=[tensorboard, wandb]",
];

fn start(sandbox: &Sandbox) -> Child {
    sandbox.command(&LONG).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ends what was stopped, and asserts that it has the weights of a training that ran through.
fn ends_the_same(sandbox: &Sandbox) {
    sandbox.succeeds(&[&LONG[..], &["--runs", "reference"]].concat());
    assert!(sandbox.weights("runs") == sandbox.weights("reference"), "weights differ");
}

/// Asserts that the end was asked for by Ctrl-C, and that it was said.
fn was_interrupted(child: Child, said: &str) {
    let (code, _, err) = told(child.wait_with_output().unwrap());
    assert_eq!(code, Some(130), "{err}");
    assert!(err.contains(said), "{err}");
}

#[test]
fn ctrl_c_leaves_a_checkpoint_and_the_same_command_ends_with_the_same_weights() {
    let sandbox = Sandbox::new();
    let child = start(&sandbox);
    sandbox.wait_for("checkpoint", || sandbox.checkpoints("runs") > 2);
    send("-INT", &child);
    was_interrupted(child, "the same command goes on from there");
    assert!(!sandbox.only_run("runs").join("encoder").exists());

    sandbox.succeeds(&LONG);
    ends_the_same(&sandbox);
    journals_are_equal(&sandbox);
}

/// A pipe that nobody writes into is a source that takes for ever to read.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_before_training_ends_at_once() {
    let sandbox = Sandbox::new();
    let made = std::process::Command::new("mkfifo").arg(sandbox.path("pairs.jsonl")).status().unwrap();
    assert!(made.success());
    let waits = "data.sources=[{jsonl: {path: pairs.jsonl}}]";
    let mut child = sandbox.command(&["run", "tiny.yaml", waits]).stderr(Stdio::piped()).spawn().unwrap();
    let listens = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        // Bit 1 is SIGINT, number 2.
        u64::from_str_radix(caught, 16).unwrap() & 2 != 0
    };
    sandbox.wait_for("listener", listens);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "it was to wait for the pipe");
    send("-INT", &child);
    let started = std::time::Instant::now();
    was_interrupted(child, "the same command goes on from what is done");
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn a_killed_training_is_unfinished_and_ends_with_the_same_weights() {
    let sandbox = Sandbox::new();
    for checkpoints in [1, 3] {
        let mut child = start(&sandbox);
        sandbox.wait_for("checkpoint", || sandbox.checkpoints("runs") > checkpoints);
        send("-KILL", &child);
        assert_eq!(child.wait().unwrap().code(), None);
        let (out, _) = sandbox.succeeds(&["ls"]);
        assert!(out.contains("unfinished") && !out.contains("done"), "{out}");
        let block = sandbox.wb(&["bench", "pairs", "--encoder", "tiny"]);
        assert!(block.contains("has no trained encoder"), "{block}");
    }
    sandbox.succeeds(&LONG);
    ends_the_same(&sandbox);
    journals_are_equal(&sandbox);
}

/// What was measured while training is the same too, but for how long it took.
fn journals_are_equal(sandbox: &Sandbox) {
    let read = |runs: &str, name: &str| -> Vec<Value> {
        let mut records = sandbox.lines(&sandbox.only_run(runs).join(name));
        records.iter_mut().for_each(without_seconds);
        records
    };
    for name in ["metrics.jsonl", "validation.jsonl"] {
        assert_eq!(read("runs", name), read("reference", name), "{name}");
    }
    // What other tools read is made of these, and says the same to the last byte.
    for folder in ["tensorboard", "wandb"] {
        let files = |runs: &str| -> Vec<(String, Vec<u8>)> {
            let folder = sandbox.only_run(runs).join(folder);
            let names = sandbox.names(folder.to_str().unwrap()).into_iter();
            names.map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
        };
        let (found, reference) = (files("runs"), files("reference"));
        assert_eq!(found.len(), if folder == "wandb" { 3 } else { 1 });
        assert!(found == reference, "{folder} differs");
    }
    let rows = sandbox.lines(&sandbox.only_run("runs").join("wandb/wandb-history.jsonl"));
    let steps = read("runs", "metrics.jsonl").len();
    assert_eq!(rows.len(), steps + 1, "a row for each step, and one for the validation before the first");
}

#[test]
fn a_second_wb_on_the_same_run_is_refused_and_told_who_holds_it() {
    let sandbox = Sandbox::new();
    let mut child = start(&sandbox);
    sandbox.wait_for("checkpoint", || sandbox.checkpoints("runs") > 0);
    let second = sandbox.wb(&LONG);
    let first_still_runs = child.try_wait().unwrap().is_none();
    send("-KILL", &child);
    child.wait().unwrap();
    assert!(first_still_runs, "the training was over before the second one began");
    insta::assert_snapshot!(second, @r"
    exit 2
    err: data: unchanged, datasets/prepared/pairs-[hash]
    err: error: runs/[date]-tiny-[hash] is in use by pid [pid] on [host] since [time] (wb train tiny.yaml train.epochs=60 train.validate.every={steps: 20} encoder.model={transformer: {hidden_size: 16, layers: 2, heads: 2, intermediate_size: 32, positions: 64}} encoder.max_tokens={query: 32, document: 64} journals=[tensorboard, wandb])
    err:   hint: wait for it, or stop it, or give this run another name
    ");
    // Nobody holds it any more, however it ended.
    sandbox.succeeds(&LONG);
}

#[test]
fn several_wb_that_prepare_the_same_pairs_at_once_all_end_well() {
    for more in ["data.streaming=false", "data.streaming=true"] {
        let sandbox = Sandbox::new();
        let arguments = ["data", "tiny.yaml", "data.dedupe.near=0", "data.split.by=pair", more];
        let start = |_| sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        for child in [(); 4].map(start) {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{more}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let names = sandbox.names("datasets/prepared");
        assert!(names.len() == 1 && names[0].starts_with("pairs-"), "{more}: {names:?}");
        sandbox.notes(&arguments, &["data: unchanged"]);
    }
}

#[test]
fn a_torn_checkpoint_is_told_and_the_one_before_it_is_used() {
    let sandbox = Sandbox::new();
    let mut child = start(&sandbox);
    sandbox.wait_for("checkpoint", || sandbox.checkpoints("runs") > 2);
    send("-KILL", &child);
    child.wait().unwrap();
    let folder = sandbox.only_run("runs").join("checkpoints");
    let is_step = |name: &str| name.starts_with("step-") && !name.contains("tmp");
    let steps = sandbox.names(folder.to_str().unwrap());
    let file = folder.join(steps.iter().rfind(|name| is_step(name)).unwrap()).join("weights.safetensors");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 100]).unwrap();
    sandbox.notes(&LONG, &["checkpoint"]);
    ends_the_same(&sandbox);
}
