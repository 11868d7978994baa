//! Recipes, listed with what they cost where a command is given no file.

use std::{fs, path::Path};

use anyhow::Result;
use wb_core::Error;
use wb_pipeline::{
    config::{Experiment, Head},
    manifest::quoted,
    preflight,
    recipes::{FOLDER, QUICKSTART, all},
};

use crate::{args, output};

/// The file that was given; none where none was given, and the recipes were listed instead.
///
/// # Errors
///
/// If values are given without a file, or if there is nothing to list.
pub fn given_or_listed(command: &str, given: args::Given) -> Result<Option<args::Experiment>> {
    let (config, overrides) = args::file_and_values(given.config, given.overrides);
    let Some(config) = config else {
        if !overrides.is_empty() {
            let message = format!("{} has no file that it could be set in", overrides.join(" "));
            let values: Vec<String> = overrides.into_iter().map(quoted).collect();
            let hint = format!("wb {command} {QUICKSTART} {}", values.join(" "));
            return Err(Error::data(format!("wb {command}"), message).with_hint(hint).into());
        }
        list(command)?;
        return Ok(None);
    };
    Ok(Some(args::Experiment { config, overrides, device: given.device, places: given.places }))
}

fn list(command: &str) -> Result<()> {
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
        let head = Head::of(&text);
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
