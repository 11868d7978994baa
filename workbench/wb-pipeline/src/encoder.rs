//! Encoders: from scratch, from a folder, from a run, from the hub.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wb_core::{EncoderPlace, EncoderRef, Progress, RunDir, fingerprint::Fingerprint, remote, suggest};
use wb_encoder::{
    BiEncoder, CrossEncoder, DeviceConfig, Folder, MemoryType, OpenDevice, ScoreActivation, Tokenizer, TokenizerConfig,
    folder::MaxTokens, kernels::has_bf16_products, losses::LossConfig,
};
use wb_hub::{Hub, RepoKind, RepoRef};

use super::{data::ExperimentPairs, device};
use crate::{
    config::{EncoderConfig, Experiment, ModelChoice},
    output, session,
};

/// Fingerprint of the encoder that an experiment begins with.
pub fn fingerprint(config: &EncoderConfig) -> Result<Fingerprint> {
    let mut all = Fingerprint::builder();
    all.text(Fingerprint::of_json(config).as_str());
    let pretrained = match &config.model {
        ModelChoice::Pretrained(pretrained) => Some(pretrained),
        _ => config.from_teacher().map(|(teacher, _)| teacher),
    };
    if let Some(pretrained) = pretrained {
        all.text(of_reference(pretrained)?.as_str());
    }
    Ok(all.finish())
}

/// Fingerprint of an encoder by name: of every file of its folder, and of its adapters, that decides a vector.
pub fn of_reference(reference: &EncoderRef) -> Result<Fingerprint> {
    let of_folder = Folder::fingerprint(&locate(reference)?)?;
    let Some(adapter) = &reference.adapter else { return Ok(of_folder) };
    let mut all = Fingerprint::builder();
    all.text(of_folder.as_str()).text(Folder::fingerprint(&remote::local(adapter)?)?.as_str());
    Ok(all.finish())
}

/// The encoder that an experiment begins with. A tokenizer that has to be learned is kept in the run's folder, and so is
/// a bag that is made from a teacher, which the device computes.
pub fn begin(
    experiment: &Experiment,
    run: &RunDir,
    data: &ExperimentPairs,
    device: &OpenDevice,
    progress: &mut dyn FnMut(Progress),
) -> Result<Folder> {
    let config = experiment.encoder()?;
    if let Some((teacher, wanted)) = config.from_teacher() {
        let place = run.untrained();
        if place.is_dir() {
            return adapted(Folder::read(&place)?, experiment);
        }
        let made = wanted.make(&experiment.name, pretrained_encoder(teacher)?, device, progress)?;
        made.write(&place)?;
        return adapted(made, experiment);
    }
    let folder = match &config.model {
        ModelChoice::Pretrained(pretrained) => pretrained_encoder(pretrained)?,
        _ => {
            let tokenizer = tokenizer(config, run, data, progress)?;
            fresh(experiment, config, tokenizer.vocab_size(), tokenizer)?
        }
    };
    adapted(folder, experiment)
}

/// The pretrained encoder that an experiment begins with, and its folder; none where it begins from scratch.
pub fn pretrained(experiment: &Experiment) -> Result<Option<(Folder, PathBuf)>> {
    let Some(pretrained) = experiment.pretrained() else { return Ok(None) };
    let place = locate(pretrained)?;
    Ok(Some((adapted(pretrained_encoder(pretrained)?, experiment)?, place)))
}

/// An encoder of the sizes that an experiment asks for, to be measured before its data is there: the pretrained one itself,
/// or fresh weights with a tokenizer of a few made-up words, whose ids say nothing.
pub fn made_up(experiment: &Experiment) -> Result<Folder> {
    let config = experiment.encoder()?;
    if let ModelChoice::Pretrained(pretrained) = &config.model {
        return adapted(pretrained_or_like_it(pretrained, experiment)?, experiment);
    }
    if let Some((teacher, wanted)) = config.from_teacher() {
        let teacher = pretrained_or_like_it(teacher, experiment)?;
        return adapted(wanted.sized_like(&experiment.name, &teacher, experiment.seed)?, experiment);
    }
    let texts = ["sort a list", "sort the lines of a file"];
    let tokenizer = trainer(config).train(&texts, Path::new("made-up tokenizer"))?;
    adapted(fresh(experiment, config, config.tokenizer.vocab_size, tokenizer)?, experiment)
}

/// An encoder with fresh weights for a vocabulary of this size.
fn fresh(experiment: &Experiment, config: &EncoderConfig, vocab_size: usize, tokenizer: Tokenizer) -> Result<Folder> {
    let architecture = config.architecture(vocab_size).context("a model from scratch has no sizes")?;
    Ok(Folder::fresh(&experiment.name, architecture, tokenizer, config.scratch_max_tokens(), experiment.seed)?)
}

/// Rules by which the tokenizer of an encoder from scratch is learned.
fn trainer(config: &EncoderConfig) -> TokenizerConfig {
    TokenizerConfig { special_tokens: config.has_special_tokens(), ..config.tokenizer.clone() }
}

/// Sizes of an encoder that fits.
pub struct CheckedEncoder {
    /// Its limits.
    pub max_tokens: MaxTokens,
    /// Number of special tokens around a text.
    pub special_tokens: usize,
    /// Length of an embedding.
    pub dim: usize,
}

/// Reads a pretrained encoder and lets it go: what does not fit is told before anything is computed or written.
pub fn check(experiment: &Experiment) -> Result<CheckedEncoder> {
    let config = experiment.encoder()?;
    if let ModelChoice::Pretrained(pretrained) = &config.model {
        let folder = adapted(pretrained_encoder(pretrained)?, experiment)?;
        let (max_tokens, special_tokens) = (folder.max_tokens, folder.tokenizer.special_tokens());
        return Ok(CheckedEncoder { max_tokens, special_tokens, dim: folder.dim() });
    }
    let mut dim = config.architecture(config.tokenizer.vocab_size).map_or(0, |architecture| architecture.dim());
    if let Some((teacher, wanted)) = config.from_teacher() {
        let teacher = pretrained_encoder(teacher)?;
        dim = adapted(wanted.sized_like(&experiment.name, &teacher, experiment.seed)?, experiment)?.dim();
    }
    let special_tokens = if config.has_special_tokens() { 2 } else { 0 };
    Ok(CheckedEncoder { max_tokens: config.scratch_max_tokens(), special_tokens, dim })
}

/// A pretrained model, or, where it is yet to be fetched, one of its sizes: what is small of it is fetched for that.
pub fn pretrained_or_like_it(reference: &EncoderRef, experiment: &Experiment) -> Result<Folder> {
    if is_here(reference)? {
        return pretrained_encoder(reference);
    }
    let remote = Path::new(&reference.id);
    if remote::is_remote(remote) {
        let small = remote::local_of(remote, &|name| !Folder::small_files_among(&[name]).is_empty())?;
        return Ok(Folder::sized_like(&small.path, experiment.seed)?);
    }
    let EncoderPlace::Hub { id, revision } = reference.place(session::runs())? else {
        return pretrained_encoder(reference);
    };
    let repo = RepoRef::new(RepoKind::Model, &id, &revision, "the encoder")?;
    let small = Hub::session().peek(&repo, &Folder::small_files_among)?;
    let mut folder = Folder::sized_like(&small.folder, experiment.seed)?;
    folder.name = id;
    Ok(folder)
}

/// True where nothing of an encoder has to be fetched.
pub fn is_here(reference: &EncoderRef) -> Result<bool> {
    let remote = Path::new(&reference.id);
    if remote::is_remote(remote) {
        return Ok(remote::missing(remote)?.is_none_or(|bytes| bytes == 0));
    }
    let EncoderPlace::Hub { id, revision } = reference.place(session::runs())? else { return Ok(true) };
    let repo = RepoRef::new(RepoKind::Model, &id, &revision, "the encoder")?;
    Ok(Hub::session().look(&repo, &Folder::files_among).missing.is_empty())
}

/// A pretrained model, with the adapters that are named beside it.
fn pretrained_encoder(reference: &EncoderRef) -> Result<Folder> {
    read(reference, &locate(reference)?)
}

/// Sets the lengths, prompts, pooling, attention and adapters of an experiment.
pub fn adapted(mut folder: Folder, experiment: &Experiment) -> Result<Folder> {
    let config = experiment.encoder()?;
    if !folder.dense.is_empty() {
        let message = format!("{} has dense layers after its pooling, which are computed but not trained", folder.name);
        return Err(wb_core::Error::value("encoder.model.pretrained", message)
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
    if let Some(on) = config.bidirectional {
        folder.model.architecture.set_bidirectional(on, "encoder.bidirectional")?;
    }
    if let Some(late) = &config.late_interaction {
        folder.add_late_interaction(late, experiment.seed, "encoder.late_interaction")?;
    }
    match &config.cross_encoder {
        Some(cross) => {
            let activation = score_activation(&experiment.train.loss);
            folder.add_pair_reading(cross, activation, experiment.seed, "encoder.cross_encoder")?;
        }
        None if folder.pair_reading.is_some() => {
            let message = format!("{} is a cross-encoder, which gives no vectors", folder.name);
            return Err(wb_core::Error::value("encoder.model.pretrained", message)
                .with_hint("encoder.cross_encoder={} trains it as what it is")
                .into());
        }
        None => {}
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

/// The function that scores of a new cross-encoder go through: a probability where each document is judged by itself, and
/// the number itself where numbers are compared, which a logistic function would make alike far from 0.
fn score_activation(loss: &LossConfig) -> ScoreActivation {
    match loss {
        LossConfig::BinaryCrossEntropy(_) => ScoreActivation::Sigmoid,
        _ => ScoreActivation::Identity,
    }
}

fn tokenizer(
    config: &EncoderConfig,
    run: &RunDir,
    data: &ExperimentPairs,
    progress: &mut dyn FnMut(Progress),
) -> Result<Tokenizer> {
    let file = run.tokenizer();
    if !file.is_file() {
        progress(Progress::new("learning a tokenizer", 0, 1));
        let pairs = data.sample(config.tokenizer.sample_bytes)?;
        let texts: Vec<&str> =
            pairs.pairs().iter().flat_map(|pair| [pair.anchor.as_str(), pair.positive.as_str()]).collect();
        trainer(config).train(&texts, &file)?.write(&file)?;
        progress(Progress::new("learning a tokenizer", 1, 1));
    }
    Ok(Tokenizer::read(&file)?)
}

/// The folder of an encoder by name: on this disk, a run's, or in the hub's cache, fetched into it where it is not there.
pub fn locate(reference: &EncoderRef) -> Result<PathBuf> {
    locate_in(reference, session::runs())
}

/// [`locate`], with the folder of runs.
pub fn locate_in(reference: &EncoderRef, runs: &Path) -> Result<PathBuf> {
    Ok(located(reference, runs)?.0)
}

/// The folder of an encoder by name, with the run, if it is one's.
fn located(reference: &EncoderRef, runs: &Path) -> Result<(PathBuf, Option<RunDir>)> {
    match reference.place(runs)? {
        EncoderPlace::Folder(folder) if Folder::is_encoder(&folder) => Ok((folder, None)),
        EncoderPlace::Folder(folder) => {
            let message = "is a folder without an encoder: it has neither `config.json` nor `encoder.json`";
            let hint = "name a folder with config.json, model.safetensors and tokenizer.json, or a run (`wb ls`)";
            Err(wb_core::Error::data(folder.display().to_string(), message).with_hint(hint).into())
        }
        EncoderPlace::Run(run) if run.encoder().is_dir() => {
            remote::bring(&run.encoder())?;
            Ok((run.encoder(), Some(run)))
        }
        EncoderPlace::Run(run) => {
            let message = "has no trained encoder: the run was stopped before it was written";
            Err(wb_core::Error::data(run.folder().display().to_string(), message)
                .with_hint("finish it by giving the same command again")
                .into())
        }
        EncoderPlace::Hub { id, revision } => {
            let repo = RepoRef::new(RepoKind::Model, &id, &revision, "the encoder")?;
            let fetched = Hub::session().fetch(&repo, &Folder::files_among);
            // `models/mine` is a folder that is not there as well as it is a name on the hub.
            let fetched =
                fetched.with_context(|| format!("there is no folder {id} here, and it cannot be had from the hub"))?;
            Ok((fetched.folder, None))
        }
    }
}

/// Ways to open an encoder.
#[derive(Debug, Clone, Copy, Default)]
pub struct Opening {
    /// Longest text in tokens, instead of the encoder's own.
    pub max_tokens: Option<usize>,
    /// Type of the weights in memory, instead of the folder's.
    pub dtype: Option<MemoryType>,
    /// The device.
    pub device: DeviceConfig,
}

/// An encoder ready to embed. With the run, if it is one's.
pub fn open(reference: &EncoderRef, runs: &Path, opening: Opening) -> Result<(BiEncoder, Option<RunDir>)> {
    let Opening { max_tokens, dtype, device } = opening;
    device::check_dtypes(device, dtype.as_slice(), "--dtype")?;
    let (path, run) = located(reference, runs)?;
    let mut folder = read(reference, &path)?;
    if let Some(tokens) = max_tokens {
        folder.max_tokens = MaxTokens::both(tokens);
    }
    // Before a device makes kernels for minutes.
    folder.expect_encoder("encoder")?;
    folder.check_lengths("encoder")?;
    if let Some(dtype) = dtype {
        folder.check_memory_type(dtype)?;
        note_products(device, &[dtype])?;
    }
    let precision = dtype.and_then(MemoryType::precision).unwrap_or_default();
    let opened = device::open_for(device, Some(&path), precision)?;
    let encoder = match dtype {
        Some(dtype) => BiEncoder::open_kept_as(folder, dtype, &opened)?,
        None => BiEncoder::open_frozen(folder, &opened)?,
    };
    Ok((encoder, run))
}

/// Says where the products that a type is named for are not this processor's.
pub fn note_products(device: DeviceConfig, dtypes: &[MemoryType]) -> Result<()> {
    let name = MemoryType::Bf16Products;
    if dtypes.contains(&name) && !has_bf16_products() && device::resolved(device)? == DeviceConfig::Cpu {
        output::note(format!("{name}: this processor has none (AVX512-BF16); the same numbers are computed, slower"));
    }
    Ok(())
}

/// A cross-encoder ready to score. A run's has the run's name.
pub fn open_cross_encoder(reference: &EncoderRef, runs: &Path, device: DeviceConfig) -> Result<CrossEncoder> {
    if reference.adapter.is_some() || reference.lowercase {
        let message = "a cross-encoder is taken as it lies in its folder, without `adapter` and `lowercase`";
        return Err(wb_core::Error::value(reference.id.clone(), message).into());
    }
    let (path, run) = located(reference, runs)?;
    let mut folder = Folder::read_cross_encoder(&path)?;
    if let Ok(EncoderPlace::Hub { id, .. }) = reference.place(session::runs()) {
        folder.name = id.rsplit('/').next().unwrap_or(&id).to_owned();
    }
    let opened = CrossEncoder::open(folder, &device::open(device, Some(&path))?)?;
    Ok(match run {
        Some(run) => opened.named(run.id()),
        None => opened,
    })
}

/// An encoder in host memory. With the run, if it is one's.
pub fn named(reference: &EncoderRef, runs: &Path) -> Result<(Folder, Option<RunDir>)> {
    let (path, run) = located(reference, runs)?;
    Ok((read(reference, &path)?, run))
}

/// The encoder of a folder, with the adapters and the lower case that its name asks for.
fn read(reference: &EncoderRef, path: &Path) -> Result<Folder> {
    let mut folder = Folder::read(path)?;
    // A folder of the hub's cache is called by its commit.
    if let Ok(EncoderPlace::Hub { id, .. }) = reference.place(session::runs()) {
        folder.name = id.rsplit('/').next().unwrap_or(&id).to_owned();
    }
    if let Some(adapter) = &reference.adapter {
        folder.add_peft(&remote::local(adapter)?)?;
    }
    if reference.lowercase {
        folder.tokenizer = folder.tokenizer.lowercased()?;
    }
    Ok(folder)
}

/// A hint for a retriever's name.
pub fn check_retriever(name: &str) -> Result<()> {
    if name == "bm25" {
        return Ok(());
    }
    let hint = suggest::hint(name, ["bm25"]);
    Err(wb_core::Error::unknown("retriever", name).with_hint_if(hint).into())
}
