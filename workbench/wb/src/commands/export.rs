//! `wb export`: an encoder out to other tools.

use std::path::Path;

use anyhow::Result;
use wb_core::{EncoderPlace, RunDir};
use wb_encoder::{ExportConfig, ExportFormat, export as write};
use wb_pipeline::{
    config::Experiment,
    encoder,
    model_card::{ModelCard, Subject},
};

use super::End;
use crate::{args, output};

/// `wb export`
pub fn export(arguments: &args::Export) -> Result<End> {
    let (folder, run) = encoder::named(&arguments.encoder.as_str().into(), &arguments.places.runs)?;
    let run = run.or_else(|| run_around(&arguments.encoder));
    let experiment = match &run {
        Some(run) => Some(wb_core::config::load::<Experiment>(&run.config(), &[])?),
        None => None,
    };
    let (base, base_revision, note) = base(arguments, experiment.as_ref());
    let config = ExportConfig {
        format: arguments.format,
        merge: arguments.merge,
        dtype: arguments.dtype,
        base,
        base_revision,
        similarity: experiment.as_ref().map(|experiment| experiment.train.similarity).unwrap_or_default(),
    };
    let subject = Subject { folder: &folder, config: &config, out: &arguments.out };
    let card = ModelCard::gather(run.as_ref(), experiment)?;
    let exported = write(&folder, &config, &|exported| card.text(&subject, exported), &arguments.out)?;
    for note in exported.notes.iter().chain(&note) {
        output::note(format!("note: {note}"));
    }
    let parity = exported.parity;
    let rounded = parity
        .rounded
        .map(|cosine| format!(", {cosine:.6} to the weights before they were rounded to {}", config.dtype));
    output::line(format!(
        "{}: {} in {}; read back, least cosine {:.7} on {} texts{}",
        arguments.out.display(),
        config.format,
        config.dtype,
        parity.cosine,
        parity.texts,
        rounded.unwrap_or_default()
    ));
    Ok(End::Done)
}

/// The run that an `encoder` folder belongs to.
fn run_around(name: &str) -> Option<RunDir> {
    let path = Path::new(name);
    let above = path.parent().filter(|_| path.file_name().is_some_and(|name| name == "encoder"))?;
    RunDir::open(above, above.to_str()?).ok().filter(|run| run.manifest().is_file())
}

/// What `adapter_config.json` is to call the base model, its commit, and a remark on that.
fn base(arguments: &args::Export, experiment: Option<&Experiment>) -> (Option<String>, Option<String>, Option<String>) {
    if arguments.format != ExportFormat::Peft || arguments.base.is_some() {
        return (arguments.base.clone(), None, None);
    }
    let Some(pretrained) = experiment.and_then(Experiment::pretrained) else {
        return (None, None, None);
    };
    match pretrained.place(&arguments.places.runs) {
        Ok(EncoderPlace::Folder(folder)) => {
            let note = "adapter_config.json names the base model by its folder on this machine; `--base owner/name` names it for others";
            let path = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            (Some(path.display().to_string()), None, Some(note.to_owned()))
        }
        _ => (Some(pretrained.id.clone()), Some(pretrained.revision.clone()).filter(|r| !r.is_empty()), None),
    }
}
