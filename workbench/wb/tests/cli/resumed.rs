//! Going on with a run that was begun: with what it was begun with, or not at all; and never with another one unnoticed.
#![cfg(unix)]

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::sandbox::{Sandbox, TRANSFORMER};

/// Long enough to be interrupted.
const LONG: [&str; 6] = [
    "train",
    "tiny.yaml",
    "train.epochs=40",
    "train.validate.every={steps: 20}",
    TRANSFORMER,
    "encoder.max_tokens={query: 32, document: 64}",
];

/// A project with a training that was interrupted, and its run.
fn interrupted() -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    let mut child = sandbox.command(&LONG).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    sandbox.wait_for("checkpoint", || sandbox.checkpoints("runs") > 1);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = sandbox.only_run("runs");
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    (sandbox, run, id)
}

#[test]
fn a_named_run_is_gone_on_with_only_as_it_was_begun() {
    let (sandbox, run, id) = interrupted();
    let resume = [&LONG[..], &["--resume", &id]].concat();

    let block = sandbox.refuses(&[&resume[..], &["train.epochs=41", "train.clip_norm=0.5"]].concat());
    for told in
        ["this changed since it began", "train.clip_norm: 1.0, now 0.5; train.epochs: 40, now 41", "config.yaml"]
    {
        assert!(block.contains(told), "{told}\n{block}");
    }

    // Another file of the tree.
    let file = sandbox.path("code/alder/src/lib.rs");
    let (source, modified) = (fs::read_to_string(&file).unwrap(), file.metadata().unwrap().modified().unwrap());
    fs::write(&file, source.replacen("every", "each", 1)).unwrap();
    let block = sandbox.refuses(&resume);
    assert!(block.contains("this changed since it began: data.sources[0]: other content"), "{block}");
    fs::write(&file, source).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();

    // As if another commit had begun it: named with this one, also where the run is not named.
    let manifest = run.join("manifest.json");
    let text = fs::read(&manifest).unwrap();
    let mut other: Value = serde_json::from_slice(&text).unwrap();
    let version = other["version"].as_str().unwrap().to_owned();
    other["commit"] = "0123456789ab".into();
    let source = other["source"].as_str().unwrap().to_owned();
    assert_eq!(source.len(), 16, "{source}");
    // A commit that changed no code is no other build: what differs in it is told below, by the name alone.
    other["source"] = "0123456789abcdef".into();
    fs::write(&manifest, serde_json::to_vec(&other).unwrap()).unwrap();
    for arguments in [&resume[..], &LONG[..]] {
        let block = sandbox.refuses(arguments);
        assert!(block.contains(&format!("code: {version} (0123456789ab), now {version}")), "{block}");
        assert!(block.contains("hint: "), "{block}");
    }
    // As if it had begun on a GPU, whatever name the YAML has for that.
    let mut other: Value = serde_json::from_slice(&text).unwrap();
    other["device"] = "cuda (NVIDIA H200)".into();
    fs::write(&manifest, serde_json::to_vec(&other).unwrap()).unwrap();
    for device in ["device=cpu", "device=auto"] {
        let block = sandbox.refuses(&[&resume[..], &[device]].concat());
        assert!(block.contains("device: cuda, now cpu"), "{block}");
    }
    fs::write(&manifest, text).unwrap();

    let block = sandbox.refuses(&[&LONG[..], &["--resume", "nothing"]].concat());
    assert!(block.contains("no run `nothing`"), "{block}");

    // What is measured is no part of it; and the run's own config does as well as the file that it came from.
    let config = format!("runs/{id}/config.yaml");
    let (_, err) = sandbox.succeeds(&["train", &config, "bench.benchmarks=[]", "--resume", &id]);
    assert!(!err.contains("new run"), "{err}");
    // `auto` is the processor here, and the same run.
    let (_, err) = sandbox.succeeds(&[&LONG[..], &["device=auto"]].concat());
    assert!(err.contains("training: unchanged"), "{err}");
    sandbox.only_run("runs");
    sandbox.succeeds(&[&LONG[..], &["--runs", "reference"]].concat());
    assert!(sandbox.weights("runs") == sandbox.weights("reference"), "weights differ");
    // Done, it is named and left as it is.
    let (_, err) = sandbox.succeeds(&resume);
    assert!(err.contains("training: unchanged"), "{err}");
}

#[test]
fn a_new_run_beside_an_unfinished_one_is_told() {
    let (sandbox, _, id) = interrupted();
    let (_, err) = sandbox.succeeds(&[&LONG[..], &["train.epochs=1"]].concat());
    for told in [
        "a new run begins",
        &format!("the run {id} of the same name was left unfinished at step "),
        "differs: train.epochs: 40, now 1",
        &format!("wb train runs/{id}/config.yaml --resume {id}"),
    ] {
        assert!(err.contains(told), "{told}\n{err}");
    }
    // That one is there now, and nothing begins.
    let (_, err) = sandbox.succeeds(&[&LONG[..], &["train.epochs=1"]].concat());
    assert!(!err.contains("a new run"), "{err}");
    // Other pairs.
    let file = sandbox.path("code/alder/src/lib.rs");
    fs::write(&file, fs::read_to_string(&file).unwrap().replacen("every", "each", 1)).unwrap();
    let (_, err) = sandbox.succeeds(&[&LONG[..], &["train.epochs=1"]].concat());
    assert!(err.contains("train.epochs: 40, now 1; data.sources[0]: other content"), "{err}");
    // Another name is another matter.
    let (_, err) = sandbox.succeeds(&[&LONG[..], &["train.epochs=1", "name=other"]].concat());
    assert!(!err.contains("a new run"), "{err}");
}
