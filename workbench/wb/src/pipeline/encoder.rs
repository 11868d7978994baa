//! Encoders: from scratch, from a folder, from a run, from the hub.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wb_core::{Progress, RunDir, fingerprint::Fingerprint, suggest};
use wb_data::sources::hub::{Kind, fetch, fetch_optional};
use wb_encoder::{BiEncoder, DeviceConfig, Folder, Tokenizer, folder::MaxTokens};

use super::{data::Data, device};
use crate::config::{EncoderConfig, Experiment, ModelChoice, PretrainedConfig};

/// What a model on the hub consists of, beside its weights.
const HUB_FILES: [&str; 2] = ["config.json", "tokenizer.json"];

/// Its weights: the first, or else the second.
const HUB_WEIGHTS: [&str; 2] = ["model.safetensors", "pytorch_model.bin"];

/// What it may have besides; plain transformers models have none of these.
const OPTIONAL_HUB_FILES: [&str; 8] = [
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
    "2_Dense/config.json",
    "2_Dense/model.safetensors",
    "2_Dense/pytorch_model.bin",
];

/// One of these makes a folder an encoder's.
const ENCODER_FILES: [&str; 4] = ["config.json", "encoder.json", "modules.json", "adapter_config.json"];

/// Of what an experiment's encoder begins with.
pub fn fingerprint(config: &EncoderConfig) -> Result<Fingerprint> {
    let mut all = Fingerprint::builder();
    all.text(Fingerprint::of_json(config).as_str());
    if let ModelChoice::Pretrained(pretrained) = &config.model {
        let folder = pretrained_folder(pretrained)?;
        for place in [Some(&folder), pretrained.adapter_folder().as_ref()].into_iter().flatten() {
            // A folder of adapters alone has no weights of its own.
            let matrices = [
                "late_interaction.safetensors",
                "1_Dense/model.safetensors",
                "2_Dense/model.safetensors",
                "2_Dense/pytorch_model.bin",
            ];
            for file in ["model.safetensors", "pytorch_model.bin", "adapter_model.safetensors", "adapter_config.json"]
                .iter()
                .chain(&matrices)
            {
                let path = place.join(file);
                if path.is_file() {
                    all.text(Fingerprint::of_file(&path)?.as_str());
                }
            }
        }
    }
    Ok(all.finish())
}

/// The encoder that an experiment begins with. A tokenizer that has to be learned is kept in the run's folder.
pub fn begin(experiment: &Experiment, run: &RunDir, data: &Data, progress: &mut dyn FnMut(Progress)) -> Result<Folder> {
    let config = &experiment.encoder;
    let folder = match &config.model {
        ModelChoice::Pretrained(pretrained) => pretrained_encoder(pretrained)?,
        _ => {
            let tokenizer = tokenizer(config, run, data, progress)?;
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
    Ok(Some((adapted(pretrained_encoder(pretrained)?, experiment)?, place)))
}

/// Reads a pretrained encoder and lets it go: what does not fit is told before anything is computed or written.
/// Gives the encoder's limits, and how many special tokens stand around a text.
pub fn check(experiment: &Experiment) -> Result<(MaxTokens, usize)> {
    let config = &experiment.encoder;
    if let ModelChoice::Pretrained(pretrained) = &config.model {
        let folder = adapted(pretrained_encoder(pretrained)?, experiment)?;
        return Ok((folder.max_tokens, folder.tokenizer.special_tokens()));
    }
    Ok((config.scratch_max_tokens(), if config.has_special_tokens() { 2 } else { 0 }))
}

/// A pretrained model, with the adapters that are named beside it.
fn pretrained_encoder(config: &PretrainedConfig) -> Result<Folder> {
    let mut folder = Folder::read(&pretrained_folder(config)?)?;
    if let Some(adapter) = config.adapter_folder() {
        folder.add_peft(&adapter)?;
    }
    if config.lowercase {
        folder.tokenizer = folder.tokenizer.lowercased()?;
    }
    Ok(folder)
}

/// With the lengths, prompts, pooling and adapters of an experiment.
fn adapted(mut folder: Folder, experiment: &Experiment) -> Result<Folder> {
    let config = &experiment.encoder;
    if !folder.dense.is_empty() {
        let message = format!("{} has dense layers after its pooling, which are computed but not trained", folder.name);
        return Err(wb_core::Error::value("encoder.model.pretrained.id", message)
            .with_hint("`wb bench --encoder` measures it; to train, begin with a model without such layers")
            .into());
    }
    if let Some(max_tokens) = config.max_tokens {
        folder.max_tokens = max_tokens;
    }
    if let Some(prompts) = &config.prompts {
        folder.prompts = prompts.clone();
    }
    if let Some(pooling) = config.pooling {
        folder.model.pooling = pooling;
    }
    if let Some(late) = &config.late_interaction {
        folder.add_late_interaction(late, experiment.seed, "encoder.late_interaction")?;
    }
    match &config.lora {
        Some(lora) => folder.attach(lora, experiment.seed)?,
        // Adapters that were read train further; the weights that they stand beside stay frozen.
        None if folder.lora.is_some() => {}
        None => folder.model.parameters.iter_mut().for_each(|parameter| parameter.trainable = true),
    }
    experiment.check_similarity(folder.late_interaction.is_some())?;
    folder.check_lengths("encoder")?;
    Ok(folder)
}

fn tokenizer(
    config: &EncoderConfig,
    run: &RunDir,
    data: &Data,
    progress: &mut dyn FnMut(Progress),
) -> Result<Tokenizer> {
    let file = run.tokenizer();
    if !file.is_file() {
        progress(Progress::new("learning a tokenizer", 0, 1));
        let pairs = data.sample(config.tokenizer.sample_bytes)?;
        let texts: Vec<&str> =
            pairs.pairs().iter().flat_map(|pair| [pair.anchor.as_str(), pair.positive.as_str()]).collect();
        let trainer =
            wb_encoder::TokenizerConfig { special_tokens: config.has_special_tokens(), ..config.tokenizer.clone() };
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
    let of_hub = || -> wb_data::Result<PathBuf> {
        let mut folder = PathBuf::new();
        for file in HUB_FILES {
            let path = fetch(Kind::Model, &config.id, &config.revision, file)?;
            folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        }
        let [weights, or_else] = HUB_WEIGHTS;
        if fetch_optional(Kind::Model, &config.id, &config.revision, weights)?.is_none()
            && fetch_optional(Kind::Model, &config.id, &config.revision, or_else)?.is_none()
        {
            // Neither is there or may be asked for: the error names what is wanted.
            fetch(Kind::Model, &config.id, &config.revision, weights)?;
        }
        for file in OPTIONAL_HUB_FILES {
            fetch_optional(Kind::Model, &config.id, &config.revision, file)?;
        }
        Ok(folder)
    };
    of_hub().with_context(|| format!("cannot get {}", config.id))
}

/// An encoder ready to embed: a folder, a run or a hub id, at its own lengths or at this one. With the run, if it is one's.
pub fn open(
    name: &str,
    runs: &Path,
    max_tokens: Option<usize>,
    device: DeviceConfig,
) -> Result<(BiEncoder, Option<RunDir>)> {
    let (mut folder, run) = named(name, runs)?;
    if let Some(tokens) = max_tokens {
        folder.max_tokens = MaxTokens::both(tokens);
    }
    let path = run.as_ref().map_or_else(|| PathBuf::from(name), RunDir::encoder);
    let device = device::open(device, path.is_dir().then_some(path.as_path()))?;
    Ok((BiEncoder::open(folder, &device)?, run))
}

/// What the user named: a folder, a run, or a hub id `owner/name@revision`.
pub fn named(name: &str, runs: &Path) -> Result<(Folder, Option<RunDir>)> {
    let as_pretrained = |id: &str, revision: &str| PretrainedConfig {
        id: id.into(),
        revision: revision.into(),
        adapter: None,
        lowercase: false,
    };
    if let Some(path) = as_pretrained(name, "").folder()
        && ENCODER_FILES.iter().any(|file| path.join(file).is_file())
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
