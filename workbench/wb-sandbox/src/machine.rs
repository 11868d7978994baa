//! Parts of a machine that tests need and that it may lack: shared data, a real model, a Python with libraries. What is
//! not there is a skip that the checks count.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// The root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Prints a line.
pub fn say(text: &str) {
    // Past the capture of test output: the numbers are the point.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Says that a test was skipped, and why.
pub fn skip(test: &str, reason: &str) {
    say(&format!("SKIPPED {test}: {reason}"));
}

/// The folder of shared data, or a counted skip.
pub fn data(test: &str) -> Option<PathBuf> {
    let beside = || root().join("../shared");
    let folder = std::env::var_os("WB_SHARED").map_or_else(beside, PathBuf::from).join("data");
    if !folder.is_dir() {
        skip(test, &format!("no shared data at {}", folder.display()));
        return None;
    }
    Some(folder.canonicalize().unwrap())
}

/// The real all-MiniLM-L6-v2, or a counted skip.
pub fn minilm(test: &str) -> Option<String> {
    let cache = || {
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
        std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("wb/models/all-MiniLM-L6-v2")
    };
    let folder = std::env::var_os("WB_MINILM").map_or_else(cache, PathBuf::from);
    if !folder.join("model.safetensors").is_file() {
        skip(test, &format!("no all-MiniLM-L6-v2 at {}", folder.display()));
        return None;
    }
    Some(folder.to_str().unwrap().to_owned())
}

/// The interpreter with the library, or a counted skip.
pub fn python_with(library: &str, test: &str) -> Option<PathBuf> {
    let cache = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(cache, PathBuf::from).join("wb");
    let python = std::env::var_os("WB_PYTHON").map_or_else(|| cache.join("peers/bin/python"), PathBuf::from);
    let look = format!("import importlib.util as u, sys; sys.exit(u.find_spec('{library}') is None)");
    if Command::new(&python).args(["-c", &look]).output().is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip(test, &format!("no Python with {library} at {}: scripts/python.sh makes one", python.display()));
    None
}
