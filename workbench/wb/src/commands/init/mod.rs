//! `wb init`: three questions, and a commented YAML that fits the answers and this machine.

mod answers;
mod choice;
mod material;
mod questions;
mod recipe;
mod yaml;

use std::{
    io::stdin,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use wb_core::atomic;
use wb_pipeline::{
    config::{Experiment, check_name},
    cost::{self, Known},
};

use self::{
    answers::Answers,
    choice::{Choice, Reckoned, choose},
    material::Material,
    recipe::{Draft, Recipe},
};
use super::End;
use crate::{args, output};

/// `wb init`
pub fn init(arguments: &args::Init) -> Result<End> {
    if let Some(name) = &arguments.name {
        check_name(name)?;
    }
    // A file that may not be written is told of before anything is asked.
    arguments.file.as_deref().map_or(Ok(()), |file| may_write(file, arguments.force))?;
    let answers = match output::can_ask() {
        true => questions::ask(arguments, &mut stdin().lock(), &mut output::questions())?,
        false => Answers::of_flags(arguments)?,
    };
    let Answers { material, device, minutes } = answers;
    let name = name(arguments, &material);
    let file = arguments.file.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.yaml")));
    may_write(&file, arguments.force)?;

    let draft = Draft { name, file: file.clone(), device, minutes, material };
    output::note("measuring this machine, a few seconds for each recipe that may fit ...");
    let chosen = choose(minutes, draft.candidates(recipe::minilm), &mut |recipe| reckon(&draft, recipe))?;
    let text = yaml::text(&draft, &chosen);
    checked(&text, &file)?;
    atomic::write(&file, text.as_bytes())?;
    output::line(format!("{}: {}, {}", file.display(), draft.summary(&chosen), chosen.time()));
    output::line(format!("next: wb check {}", yaml::shell(&file)));
    output::line(format!("      wb run {}", yaml::shell(&file)));
    Ok(End::Done)
}

/// Refuses to write where a file is already, or where there is no folder.
fn may_write(file: &Path, force: bool) -> Result<()> {
    let place = file.display().to_string();
    if file.is_dir() {
        let message = "is a folder, expected the name of a YAML to write";
        return Err(wb_core::Error::data(&place, message)
            .with_hint(format!("wb init {}", file.join("mine.yaml").display()))
            .into());
    }
    if file.exists() && !force {
        return Err(wb_core::Error::data(place, "is there already, and is not written over")
            .with_hint("give another file, or --force")
            .into());
    }
    match file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => Err(wb_core::Error::data(place, format!("there is no folder {}", folder.display()))
            .with_hint(format!("mkdir -p {}", yaml::shell(folder)))
            .into()),
    }
}

/// The experiment's name: as given, as the file is called, or as the data is.
fn name(arguments: &args::Init, material: &Material) -> String {
    let of_file = arguments.file.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    arguments.name.clone().unwrap_or_else(|| answers::as_name(of_file.as_deref().unwrap_or(&material.name)))
}

/// What one epoch of a recipe takes on this machine.
fn reckon(draft: &Draft, recipe: Recipe) -> Result<Reckoned> {
    let one_epoch = yaml::text(draft, &Choice::one_epoch(recipe));
    let experiment = checked(&one_epoch, &draft.file)?;
    let known = Known { folder: Path::new(""), steps: None, pairs: Some(draft.material.pairs) };
    let cost = cost::reckon(&experiment, known, true)?;
    let (speed, stages) = (cost.speed()?, cost.stages());
    let seconds = |name: &str| -> f64 {
        stages.iter().filter(|stage| stage.name.starts_with(name)).filter_map(|stage| stage.seconds).sum()
    };
    Ok(Reckoned {
        data: seconds("data"),
        epoch: seconds("train"),
        bench: seconds("bench"),
        steps: cost.work().training.as_ref().map_or(1.0, cost::Training::steps),
        speed,
    })
}

/// The experiment that a text is; a text that is none is an error before anything is written.
fn checked(text: &str, file: &Path) -> Result<Experiment> {
    Experiment::of_text("wb init", text, file).with_context(|| format!("cannot put {} together", file.display()))
}
