//! Tells the binary which commit it was built from, for the manifests of its runs.
#![allow(clippy::print_stdout, reason = "a build script speaks to Cargo through its output")]

use std::process::Command;

fn main() {
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
