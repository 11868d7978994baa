//! Going on with a run that was begun: with what it was begun with, or not at all; and never with another one unnoticed.
#![cfg(unix)]

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::sandbox::{Sandbox, TRANSFORMER, has, send};

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
    let mut child = sandbox.start(&LONG);
    sandbox.wait_for("checkpoint", || sandbox.checkpoints("runs") > 1);
    send("-INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = sandbox.only_run("runs");
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    (sandbox, run, id)
}

#[test]
fn a_named_run_is_gone_on_with_only_as_it_was_begun() {
    let (sandbox, run, id) = interrupted();
    let resume = [&LONG[..], &["--resume", &id]].concat();

    let changed = ["train.epochs=41", "train.clip_norm=0.5"];
    let told =
        ["this changed since it began", "train.clip_norm: 1.0, now 0.5; train.epochs: 40, now 41", "config.yaml"];
    sandbox.refuses_with(&[&resume[..], &changed].concat(), &told);

    // Another file of the tree.
    let file = sandbox.path("code/alder/src/lib.rs");
    let (source, modified) = (sandbox.text(&file), file.metadata().unwrap().modified().unwrap());
    fs::write(&file, source.replacen("every", "each", 1)).unwrap();
    sandbox.refuses_with(&resume, &["this changed since it began: data.sources[0]: other content"]);
    fs::write(&file, source).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();

    // As if another commit had begun it: named with this one, also where the run is not named.
    let manifest = run.join("manifest.json");
    let text = fs::read(&manifest).unwrap();
    let mut other: Value = serde_json::from_slice(&text).unwrap();
    let [version, source] = ["version", "source"].map(|name| other[name].as_str().unwrap().to_owned());
    other["commit"] = "0123456789ab".into();
    let told = [&other["same_bytes"], &other["products"], &other["kernels"]];
    assert_eq!((source.len(), told), (16, [&true.into(), &"fp32".into(), &Value::Null]), "{source}");
    // A commit that changed no code is no other build: what differs in it is told below, by the name alone.
    other["source"] = "0123456789abcdef".into();
    fs::write(&manifest, serde_json::to_vec(&other).unwrap()).unwrap();
    for arguments in [&resume[..], &LONG[..]] {
        sandbox.refuses_with(arguments, &[&format!("code: {version} (0123456789ab), now {version}"), "hint: "]);
    }
    // As if it had begun on a GPU, whatever name the YAML has for that.
    let mut other: Value = serde_json::from_slice(&text).unwrap();
    other["device"] = "cuda (NVIDIA H200)".into();
    fs::write(&manifest, serde_json::to_vec(&other).unwrap()).unwrap();
    for device in ["device=cpu", "device=auto"] {
        sandbox.refuses_with(&[&resume[..], &[device]].concat(), &["device: cuda, now cpu"]);
    }
    fs::write(&manifest, text).unwrap();

    sandbox.refuses_with(&[&LONG[..], &["--resume", "nothing"]].concat(), &["no run `nothing`"]);

    // What is measured is no part of it; and the run's own config does as well as the file that it came from.
    let config = format!("runs/{id}/config.yaml");
    let (_, err) = sandbox.succeeds(&["train", &config, "bench.benchmarks=[]", "--resume", &id]);
    assert!(!err.contains("new run"), "{err}");
    // `auto` is the processor here, and the same run.
    sandbox.notes(&[&LONG[..], &["device=auto"]].concat(), &["training: unchanged"]);
    sandbox.only_run("runs");
    sandbox.succeeds(&[&LONG[..], &["--runs", "reference"]].concat());
    assert!(sandbox.weights("runs") == sandbox.weights("reference"), "weights differ");
    // Done, it is named and left as it is.
    sandbox.notes(&resume, &["training: unchanged"]);
}

#[test]
fn a_new_run_beside_an_unfinished_one_is_told() {
    let (sandbox, _, id) = interrupted();
    let (_, err) = sandbox.succeeds(&[&LONG[..], &["train.epochs=1"]].concat());
    has(&err, &["a new run begins", "differs: train.epochs: 40, now 1"]);
    has(&err, &[&format!("the run {id} of the same name was left unfinished at step ")]);
    has(&err, &[&format!("wb train runs/{id}/config.yaml --resume {id}")]);
    // That one is there now, and nothing begins.
    let (_, err) = sandbox.succeeds(&[&LONG[..], &["train.epochs=1"]].concat());
    assert!(!err.contains("a new run"), "{err}");
    // Other pairs.
    let file = sandbox.path("code/alder/src/lib.rs");
    fs::write(&file, sandbox.text(&file).replacen("every", "each", 1)).unwrap();
    let (_, err) = sandbox.succeeds(&[&LONG[..], &["train.epochs=1"]].concat());
    assert!(err.contains("train.epochs: 40, now 1; data.sources[0]: other content"), "{err}");
    // Another name is another matter.
    let (_, err) = sandbox.succeeds(&[&LONG[..], &["train.epochs=1", "name=other"]].concat());
    assert!(!err.contains("a new run"), "{err}");
}
