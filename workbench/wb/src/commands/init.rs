//! `wb init`: three questions, and a commented YAML that fits the answers and this machine.

use std::{
    io::stdin,
    path::{Path, PathBuf},
};

use anyhow::Result;
use wb_core::atomic;
use wb_pipeline::{
    config::check_name,
    init::{DataChoice, Draft, InitAnswers, InitFlags, InitMaterial, as_name, ask, shell},
};

use super::End;
use crate::{args, output};

/// `wb init`
pub fn init(arguments: &args::InitArguments) -> Result<End> {
    if let Some(name) = &arguments.name {
        check_name(name)?;
    }
    // A file that may not be written is told of before anything is asked.
    arguments.file.as_deref().map_or(Ok(()), |file| may_write(file, arguments.force))?;
    let code = arguments.code.clone().map(DataChoice::Code);
    let data = code.or(arguments.pairs.clone().map(DataChoice::Pairs));
    let flags = InitFlags {
        file: arguments.file.clone(),
        data: data.or(arguments.registry.then_some(DataChoice::Registry)),
        device: arguments.device,
        minutes: arguments.minutes,
    };
    let answers = match output::can_ask() {
        true => ask(&flags, &mut stdin().lock(), &mut output::questions())?,
        false => InitAnswers::of_flags(&flags)?,
    };
    let InitAnswers { material, device, minutes } = answers;
    let name = name(arguments, &material);
    let file = arguments.file.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.yaml")));
    may_write(&file, arguments.force)?;

    let draft = Draft { name, file: file.clone(), device, minutes, material };
    output::note("measuring this machine, a few seconds for each recipe that may fit ...");
    let (text, chosen) = draft.chosen()?;
    atomic::write(&file, text.as_bytes())?;
    output::line(format!("{}: {}, {}", file.display(), draft.summary(&chosen), chosen.time()));
    output::line(format!("next: wb check {}", shell(&file)));
    output::line(format!("      wb run {}", shell(&file)));
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
            .with_hint(format!("mkdir -p {}", shell(folder)))
            .into()),
    }
}

/// The experiment's name: as given, as the file is called, or as the data is.
fn name(arguments: &args::InitArguments, material: &InitMaterial) -> String {
    let of_file = arguments.file.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    arguments.name.clone().unwrap_or_else(|| as_name(of_file.as_deref().unwrap_or(&material.name)))
}
