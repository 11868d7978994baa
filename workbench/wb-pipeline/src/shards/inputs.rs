//! Inputs and results of plans as files of this machine.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use wb_core::{Error, Progress, atomic, fingerprint::Fingerprint, publish};
use wb_encoder::Folder;
use wb_shards::{OpenPlan, PlannedInput, Store};

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

/// Puts the files of a model's folder among the inputs, under names that begin with `prefix`. A folder of adapters alone is
/// refused.
pub(super) fn put_model(
    work: &Store,
    place: &Path,
    prefix: &str,
    inputs: &mut BTreeMap<String, PlannedInput>,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let files = Folder::files_in(place)?;
    if files.iter().any(|file| file == "adapter_config.json") && !files.iter().any(|file| file == "config.json") {
        let message = "has adapters alone, and the model below them is not in it";
        let hint = format!("wb export {} --out models/whole", place.display());
        return Err(Error::file(place, message).with_hint(hint).into());
    }
    for file in files {
        progress(Progress::new("writing inputs to the store", inputs.len(), 0).note(file.as_str()));
        inputs.insert(format!("{prefix}{file}"), PlannedInput::of_file(work, &place.join(&file))?);
    }
    Ok(())
}

/// The folder of a model that [`put_model`] put, on this machine, where all shards share it.
pub(super) fn fetched_model(plan: &OpenPlan, prefix: &str, of: &Fingerprint, scratch: &Path) -> Result<String> {
    const WHOLE: &str = "whole";
    let folder = scratch.join("encoders").join(of.short());
    fs::create_dir_all(scratch.join("encoders")).map_err(Error::io("create", scratch))?;
    publish::folder(&folder, WHOLE, |inside| -> Result<()> {
        for (name, input) in &plan.plan().inputs {
            if let Some(file) = name.strip_prefix(prefix) {
                input.fetch(plan.work(), &inside.join(file))?;
            }
        }
        Ok(atomic::write(&inside.join(WHOLE), b"")?)
    })?;
    Ok(folder.display().to_string())
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
