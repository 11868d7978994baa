//! Encoders: from scratch, from a folder, from a run, from the hub.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wb_core::{PairSet, Progress, RunDir, fingerprint::Fingerprint, suggest};
use wb_data::sources::hub::{Kind, fetch};
use wb_encoder::{Folder, Tokenizer};

use crate::config::{EncoderConfig, Experiment, ModelChoice, PretrainedConfig};

/// What a model on the hub may consist of; the first three must be there.
const HUB_FILES: [&str; 7] = [
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
];

/// Of what an experiment's encoder begins with.
pub fn fingerprint(config: &EncoderConfig) -> Result<Fingerprint> {
    let mut all = Fingerprint::builder();
    all.text(Fingerprint::of_json(config).as_str());
    if let ModelChoice::Pretrained(pretrained) = &config.model {
        all.text(Fingerprint::of_file(&pretrained_folder(pretrained)?.join("model.safetensors"))?.as_str());
    }
    Ok(all.finish())
}

/// The encoder that an experiment begins with. A tokenizer that has to be learned is kept in the run's folder.
pub fn begin(
    experiment: &Experiment,
    run: &RunDir,
    pairs: &PairSet,
    progress: &mut dyn FnMut(Progress),
) -> Result<Folder> {
    let config = &experiment.encoder;
    let folder = match &config.model {
        ModelChoice::Pretrained(pretrained) => Folder::read(&pretrained_folder(pretrained)?)?,
        _ => {
            let tokenizer = tokenizer(config, run, pairs, progress)?;
            let architecture =
                config.architecture(tokenizer.vocab_size()).context("a model from scratch has no sizes")?;
            Folder::fresh(&experiment.name, architecture, tokenizer, config.scratch_max_tokens(), experiment.seed)?
        }
    };
    adapted(folder, experiment)
}

/// The pretrained encoder that an experiment begins with, and its folder; none where it begins from scratch.
pub fn pretrained(experiment: &Experiment) -> Result<Option<(Folder, PathBuf)>> {
    let ModelChoice::Pretrained(pretrained) = &experiment.encoder.model else { return Ok(None) };
    let place = pretrained_folder(pretrained)?;
    Ok(Some((adapted(Folder::read(&place)?, experiment)?, place)))
}

/// Reads a pretrained encoder and lets it go: what does not fit is told before anything is computed or written.
pub fn check(experiment: &Experiment) -> Result<()> {
    pretrained(experiment).map(|_| ())
}

/// With the lengths, prompts, pooling and adapters of an experiment.
fn adapted(mut folder: Folder, experiment: &Experiment) -> Result<Folder> {
    let config = &experiment.encoder;
    if let Some(max_tokens) = config.max_tokens {
        folder.max_tokens = max_tokens;
    }
    if let Some(prompts) = &config.prompts {
        folder.prompts = prompts.clone();
    }
    if let Some(pooling) = config.pooling {
        folder.model.pooling = pooling;
    }
    match &config.lora {
        Some(lora) => folder.attach(lora, experiment.seed)?,
        None => folder.model.parameters.iter_mut().for_each(|parameter| parameter.trainable = true),
    }
    folder.check_lengths("encoder")?;
    Ok(folder)
}

fn tokenizer(
    config: &EncoderConfig,
    run: &RunDir,
    pairs: &PairSet,
    progress: &mut dyn FnMut(Progress),
) -> Result<Tokenizer> {
    let file = run.tokenizer();
    if !file.is_file() {
        let texts: Vec<&str> =
            pairs.pairs().iter().flat_map(|pair| [pair.anchor.as_str(), pair.positive.as_str()]).collect();
        progress(Progress::new("learning a tokenizer", 0, 1));
        // A transformer reads the beginning and the end of a text; a bag of vectors would average two constants in.
        let is_transformer = matches!(config.model, ModelChoice::Transformer(_));
        let trainer = wb_encoder::TokenizerConfig {
            special_tokens: config.tokenizer.special_tokens || is_transformer,
            ..config.tokenizer.clone()
        };
        trainer.train(&texts, &file)?.write(&file)?;
        progress(Progress::new("learning a tokenizer", 1, 1));
    }
    Ok(Tokenizer::read(&file)?)
}

/// The folder of a pretrained model: named, or in the hub's cache, or downloaded into it.
pub fn pretrained_folder(config: &PretrainedConfig) -> Result<PathBuf> {
    if let Some(folder) = config.folder() {
        return Ok(folder);
    }
    let looks_like_path = config.id.starts_with(['.', '/', '~']) || config.id.matches('/').count() != 1;
    if looks_like_path {
        return Err(wb_core::Error::Unknown {
            kind: "folder",
            name: config.id.clone(),
            hint: Some("a pretrained model is a folder with config.json, model.safetensors and tokenizer.json, or a hub id owner/name".into()),
        }
        .into());
    }
    wb_data::sources::hub::check("encoder.model.pretrained", &config.id, &config.revision)?;
    let mut folder = PathBuf::new();
    for (at, file) in HUB_FILES.iter().enumerate() {
        match fetch(Kind::Model, &config.id, &config.revision, file) {
            Ok(path) if at == 0 => folder = path.parent().map(Path::to_path_buf).unwrap_or_default(),
            Ok(_) => {}
            // The later files are optional: plain transformers models have none of them.
            Err(_) if at >= 3 => {}
            Err(error) => return Err(error).with_context(|| format!("cannot get {}", config.id)),
        }
    }
    Ok(folder)
}

/// What the user named: a folder, a run, or a hub id `owner/name@revision`.
pub fn named(name: &str, runs: &Path) -> Result<(Folder, Option<RunDir>)> {
    let as_pretrained = |id: &str, revision: &str| PretrainedConfig { id: id.into(), revision: revision.into() };
    if let Some(path) = as_pretrained(name, "").folder()
        && (path.join("config.json").is_file() || path.join("encoder.json").is_file())
    {
        return Ok((Folder::read(&path)?, None));
    }
    if let Some((id, revision)) = name.split_once('@') {
        return Ok((Folder::read(&pretrained_folder(&as_pretrained(id, revision))?)?, None));
    }
    let run = RunDir::open(runs, name).map_err(|error| match error {
        wb_core::Error::Unknown { .. } if Path::new(name).is_dir() => wb_core::Error::data(
            name,
            "is a folder without an encoder: it has neither `config.json` nor `encoder.json`",
        )
        .with_hint("name a folder with config.json, model.safetensors and tokenizer.json, or a run (`wb ls`)"),
        wb_core::Error::Unknown { name, hint, .. } => {
            // A near run's name is the best help; a list of runs is none for who meant a folder.
            let hint = hint
                .filter(|hint| hint.starts_with("did you mean"))
                .unwrap_or_else(|| "name a folder, a run (`wb ls`), or a hub id owner/name@revision".into());
            wb_core::Error::Unknown { kind: "folder or run", name, hint: Some(hint) }
        }
        other => other,
    })?;
    if !run.encoder().is_dir() {
        let message = "has no trained encoder: the run was stopped before it was written";
        return Err(wb_core::Error::data(run.folder().display().to_string(), message)
            .with_hint("finish it by giving the same command again")
            .into());
    }
    Ok((Folder::read(&run.encoder())?, Some(run)))
}

/// A hint for a retriever's name.
pub fn check_retriever(name: &str) -> Result<()> {
    if name == "bm25" {
        return Ok(());
    }
    let hint = suggest::hint(name, ["bm25"]);
    Err(wb_core::Error::Unknown { kind: "retriever", name: name.to_owned(), hint }.into())
}
