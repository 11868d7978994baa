//! Encoders out to other tools: the encoder and its run found by name, written with a model card.

use std::path::Path;

use anyhow::Result;
use wb_core::{EncoderPlace, EncoderRef, RunDir, remote::Outgoing};
use wb_encoder::{ExportConfig, ExportFormat, Exported};

use crate::{
    config::Experiment,
    encoder,
    model_card::{ModelCard, Subject},
};

/// Writes the encoder of a name to a folder that is not there yet. What the base model is called for PEFT, and how
/// vectors are compared, comes from the run where `config` does not say it.
///
/// # Errors
///
/// If the encoder is not there, or its format cannot hold it.
pub fn export(name: &str, config: ExportConfig, out: &Path, runs: &Path) -> Result<Exported> {
    let to = Outgoing::to(out)?.absent()?.anew()?;
    let (folder, run) = encoder::named(&EncoderRef::from(name), runs)?;
    let run = run.or_else(|| run_around(name));
    let experiment = match &run {
        Some(run) => Some(wb_core::config::load::<Experiment>(&run.config(), &[])?),
        None => None,
    };
    let (config, note) = with_base(config, experiment.as_ref(), runs);
    let similarity = experiment.as_ref().map(|experiment| experiment.train.similarity).unwrap_or_default();
    let config = ExportConfig { similarity, ..config };
    let subject = Subject { folder: &folder, config: &config, out };
    let card = ModelCard::gather(run.as_ref(), experiment)?;
    let mut exported = wb_encoder::export(&folder, &config, &|exported| card.text(&subject, exported), to.local())?;
    to.send(&[])?;
    exported.notes.extend(note);
    Ok(exported)
}

/// The run that an `encoder` folder belongs to.
fn run_around(name: &str) -> Option<RunDir> {
    let path = Path::new(name);
    let above = path.parent().filter(|_| path.file_name().is_some_and(|name| name == "encoder"))?;
    RunDir::open(above, above.to_str()?).ok().filter(|run| run.manifest().is_file())
}

/// The base model that `adapter_config.json` names, with its commit; and a remark on that.
fn with_base(config: ExportConfig, experiment: Option<&Experiment>, runs: &Path) -> (ExportConfig, Option<String>) {
    if config.format != ExportFormat::Peft || config.base.is_some() {
        return (config, None);
    }
    let Some(pretrained) = experiment.and_then(Experiment::pretrained) else {
        return (config, None);
    };
    match pretrained.place(runs) {
        Ok(EncoderPlace::Folder(folder)) => {
            let note = "adapter_config.json names the base model by its folder on this machine; `--base owner/name` names it for others";
            let path = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            (ExportConfig { base: Some(path.display().to_string()), ..config }, Some(note.to_owned()))
        }
        _ => {
            let base_revision = Some(pretrained.revision.clone()).filter(|revision| !revision.is_empty());
            (ExportConfig { base: Some(pretrained.id.clone()), base_revision, ..config }, None)
        }
    }
}
