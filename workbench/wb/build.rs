//! Tells the binary which commit and which source it was built from, for the manifests and the names of its runs.
#![allow(clippy::print_stdout, reason = "a build script speaks to Cargo through its output")]

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

/// Files below a folder, in order.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// A hash of all that the program is compiled from: the crates' sources and manifests, and the lock file.
fn source() -> String {
    let workspace = Path::new("../..");
    let mut found = vec![workspace.join("Cargo.lock"), workspace.join("Cargo.toml")];
    let mut crates: Vec<PathBuf> =
        fs::read_dir(workspace.join("workbench")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    crates.sort();
    for folder in crates {
        found.push(folder.join("Cargo.toml"));
        // What `wb synth` can ask for is compiled in, too.
        for part in ["src", "tasks"] {
            files(&folder.join(part), &mut found);
        }
    }
    let mut hash = DefaultHasher::new();
    for path in found {
        println!("cargo::rerun-if-changed={}", path.display());
        path.hash(&mut hash);
        fs::read(&path).unwrap_or_default().hash(&mut hash);
    }
    format!("{:016x}", hash.finish())
}

fn main() {
    println!("cargo::rustc-env=WB_SOURCE={}", source());
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|status| !status.is_empty());
    println!("cargo::rustc-env=WB_COMMIT={commit}{}", if changed && !commit.is_empty() { "+" } else { "" });
    if let Some(folder) = git(&["rev-parse", "--absolute-git-dir"]) {
        println!("cargo::rerun-if-changed={folder}/HEAD");
        println!("cargo::rerun-if-changed={folder}/refs/heads");
    }
}
