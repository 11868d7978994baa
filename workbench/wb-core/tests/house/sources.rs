//! Sources of the project's crates.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::tree::{files, root};

/// The manifest of the workspace.
fn metadata() -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--offline", "--no-deps", "--format-version", "1"]);
    let found = cargo.current_dir(root()).output().unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    serde_json::from_slice(&found.stdout).unwrap()
}

/// The crates of the project with their manifests; a crate that is only on this machine is none of them.
pub fn crates() -> Vec<(String, Value)> {
    let ignored = fs::read_to_string(root().join(".git/info/exclude")).unwrap_or_default();
    let packages = metadata()["packages"].as_array().unwrap().clone();
    let named = packages.into_iter().map(|package| (package["name"].as_str().unwrap().to_owned(), package));
    named.filter(|(name, _)| !ignored.contains(&format!("workbench/{name}/"))).collect()
}

/// Every Rust file of the project: its path from the root, and its text.
pub fn sources() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (_, package) in crates() {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
        for path in files(&folder, "rs") {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            all.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(all.len() > 100, "{} files", all.len());
    all
}
