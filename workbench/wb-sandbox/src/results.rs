//! Results of a run: its files, to compare them with those of another.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{Sandbox, without_seconds};

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

/// Compares the files of a run that nothing disturbed with those of one that was killed so often.
pub fn assert_same(reference: &BTreeMap<String, Vec<u8>>, found: &BTreeMap<String, Vec<u8>>, kills: usize) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(reference), "after {kills} kills");
    for (name, bytes) in reference {
        assert!(found[name] == *bytes, "{name} differs after {kills} kills");
    }
}

/// Runs a training in `reference/`, and once more in `runs/`, killed at its first checkpoint and at its third: both have to
/// end in the same bytes. Gives the run.
#[cfg(unix)]
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
