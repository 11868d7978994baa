//! Recipes: the YAML files in `configs/`, and the one that may be meant by a file that is not there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use wb_core::{Error, remote, suggest};

use crate::{
    config::{Experiment, FileHead},
    manifest::quoted,
    output, preflight,
};

/// The folder of recipes, in the folder in which a program is started.
pub const FOLDER: &str = "configs";

/// The recipe that needs nothing but what is on every machine that has built `wb`.
pub const QUICKSTART: &str = "configs/quickstart.yaml";

/// Refuses a file that is not there, with the recipe that may have been meant.
pub fn there(config: &Path) -> Result<()> {
    if remote::exists(config)? {
        return Ok(());
    }
    let all = all()?;
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stems: Vec<String> = all.iter().map(|path| stem(path)).collect();
    let near = suggest::nearest(&stem(config), stems.iter().map(String::as_str));
    let near = near.and_then(|near| all.iter().find(|path| stem(path) == near));
    let hint = match near {
        Some(near) => format!("did you mean `{}`?", near.display()),
        None if all.is_empty() => "paths are relative to the folder in which wb is started".to_owned(),
        None => format!("`wb check` lists the recipes in {FOLDER}"),
    };
    Err(Error::unknown("file", config.display().to_string()).with_hint(hint).into())
}

/// All YAML files of the folder by their names, where to begin first; none where there is no such folder.
pub fn all() -> Result<Vec<PathBuf>> {
    let folder = Path::new(FOLDER);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let found = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let mut all = found
        .map(|entry| Ok(entry.map_err(Error::io("read", folder))?.path()))
        .collect::<Result<Vec<PathBuf>, Error>>()?;
    all.retain(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml"));
    all.sort_by_key(|path| (path != Path::new(QUICKSTART), path.clone()));
    Ok(all)
}

/// Prints every recipe with the command to paste, what the file is and what it costs.
///
/// # Errors
///
/// If there is none.
pub fn list(command: &str) -> Result<()> {
    let all = all()?;
    if all.is_empty() {
        let message = format!("no file is named, and there is no recipe in {FOLDER} to choose from");
        let hint = format!(
            "`wb {command} FILE` names one; recipes are in {FOLDER} of the folder that wb was built in; `wb init` begins a \
             file of your own"
        );
        return Err(Error::data(format!("wb {command}"), message).with_hint(hint).into());
    }
    output::line(format!("recipes in {FOLDER}: the command to paste, what the file is, what it costs"));
    for path in &all {
        let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
        let head = FileHead::of(&text);
        output::line(format!("\n{}", to_paste(command, path)));
        if !head.what.is_empty() {
            output::line(format!("  {}", head.what));
        }
        output::line(format!(
            "  Cost: {}",
            head.cost.as_deref().unwrap_or("its head does not say (a line `# Cost: ...`)")
        ));
    }
    Ok(())
}

/// The command for a recipe; it is another one where a file has nothing to train, or no pairs yet.
fn to_paste(command: &str, path: &Path) -> String {
    let file = quoted(path.display().to_string());
    let asked = format!("wb {command} {file}");
    if command == "check" {
        return asked;
    }
    // A file that is wrong is listed too; the command tells what is wrong with it.
    match Experiment::load("wb check", path, &[]) {
        Ok(experiment) if experiment.data.is_none() && experiment.rag.is_some() => {
            format!("wb text2sql {file}")
        }
        Ok(experiment) if preflight::unmade_pairs(&experiment).is_some() => format!("wb synth {file} && {asked}"),
        _ => asked,
    }
}
