//! Inputs and results of plans as files of this machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use wb_core::{Error, fingerprint::Fingerprint};
use wb_shards::{OpenPlan, PlannedInput};

/// An input of a plan by its name.
pub(super) fn input<'p>(plan: &'p OpenPlan, name: &str) -> Result<&'p PlannedInput> {
    let found = plan.plan().inputs.get(name);
    found.with_context(|| format!("the plan has no input `{name}`"))
}

/// An input as a file of this machine, with the last part of its name. Named by its content: shards of one machine, and of
/// further plans, share it.
pub(super) fn fetched(plan: &OpenPlan, name: &str, scratch: &Path) -> Result<PathBuf> {
    let input = input(plan, name)?;
    let file = Path::new(name).file_name().unwrap_or_default();
    let path = scratch.join("inputs").join(&input.blake3[..16.min(input.blake3.len())]).join(file);
    if !path.is_file() {
        input.fetch(plan.work(), &path)?;
    }
    Ok(path)
}

/// Refuses a folder to merge into that is there already.
pub(super) fn refuse_there(out: Option<&Path>) -> Result<()> {
    match out.filter(|out| out.exists()) {
        None => Ok(()),
        Some(there) => Err(Error::is_there(there).into()),
    }
}

/// Files of a folder in the order of their names: name, bytes, BLAKE3.
pub(super) fn files_of(folder: &Path) -> Result<Vec<(String, u64, String)>> {
    let mut names: Vec<_> = fs::read_dir(folder).map_err(Error::io("read", folder))?.flatten().collect();
    names.sort_by_key(fs::DirEntry::file_name);
    let file = |entry: fs::DirEntry| {
        let path = entry.path();
        let bytes = path.metadata().map_err(Error::io("read", &path))?.len();
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, bytes, Fingerprint::of_file(&path)?.as_str().to_owned()))
    };
    names.into_iter().map(file).collect()
}
