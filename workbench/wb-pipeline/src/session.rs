//! The choice of one process that is far from where it is needed: the folder of runs.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

static RUNS: OnceLock<PathBuf> = OnceLock::new();

/// The folders that stages read from and write to.
#[derive(Debug, Clone, Copy)]
pub struct Folders<'a> {
    /// The folder of runs.
    pub runs: &'a Path,
    /// The folder of prepared data sets.
    pub datasets: &'a Path,
}

/// Takes the folder of runs, once in a process; before this, and without a folder, it is `runs`.
pub fn begin(runs: Option<&Path>) -> &'static Path {
    RUNS.get_or_init(|| runs.unwrap_or(Path::new("runs")).to_owned())
}

/// The folder of runs.
pub fn runs() -> &'static Path {
    RUNS.get().map_or(Path::new("runs"), PathBuf::as_path)
}
