//! `wb check`: what is wrong with a YAML, or what it would do.

use std::path::Path;

use anyhow::Result;

use super::{End, data_lints, experiment};
use crate::{
    args,
    config::{Experiment, ModelChoice},
    output,
    pipeline::{data, encoder, preflight, steps},
};

/// `wb check`
pub fn check(check: &args::Check) -> Result<End> {
    let arguments = &check.experiment;
    let experiment = experiment::load(arguments)?;
    if check.resolved {
        output::line(wb_core::config::to_text(&experiment)?.trim_end());
        return Ok(End::Done);
    }
    preflight::preflight(&experiment)?;
    let fingerprint = data::fingerprint(&experiment)?;
    let folder = data::folder(&arguments.places.datasets, &fingerprint);
    let size = size(&experiment)?;
    let steps = steps::planned(&experiment, &folder, &fingerprint)?;
    // Nothing was found wrong until here.
    output::line(format!("{}: fine", arguments.config.display()));
    plan(&experiment, &folder, &size, steps.as_ref());
    let facts = steps.as_ref().map(|steps| steps.facts.clone().with_dim(size.dim));
    let of_training = wb_encoder::train::lints(&experiment.train, facts.as_ref());
    let of_data = data_lints::lints(&experiment, steps.as_ref());
    for lint in lints(&experiment).into_iter().chain(of_training).chain(of_data) {
        output::line(format!("lint: {lint}"));
    }
    Ok(End::Done)
}

/// What would be done, in a few lines.
fn plan(
    experiment: &Experiment,
    folder: &Path,
    Size { what, all, trainable, .. }: &Size,
    steps: Option<&steps::Planned>,
) {
    for source in &experiment.data.sources {
        output::line(format!("data      {}", source.name()));
    }
    match steps {
        Some(steps) => {
            output::line(format!("          {} training pairs, prepared already: {}", steps.pairs, folder.display()))
        }
        None => output::line(format!("          to be prepared in {}", folder.display())),
    }
    output::line(format!("encoder   {what}: {all} numbers, {trainable} trained"));
    // Weights, gradients and two moments of what is trained, in 4 bytes each; activations come on top.
    let bytes = 4 * (all + 3 * trainable);
    output::line(format!("memory    {:.1} MB for weights, gradients and optimizer", bytes as f64 / 1e6));
    let train = &experiment.train;
    match steps {
        Some(steps) => steps.lines(train).into_iter().for_each(output::line),
        None => output::line(format!("train     {} epochs in batches of {}", train.epochs, train.batch.pairs)),
    }
    for entry in &experiment.bench.benchmarks {
        let card = entry.benchmark.benchmark().card();
        let sources: Vec<String> = entry.sources.iter().map(|source| source.name()).collect();
        let place = match (&entry.dataset, sources.is_empty()) {
            (Some(path), _) => format!(" on {}", path.display()),
            (None, false) => format!(" on {}", sources.join(", ")),
            (None, true) => String::new(),
        };
        output::line(format!("bench     {}{place}", card.name));
    }
}

/// An encoder in a few words.
struct Size {
    what: String,
    /// Numbers in all.
    all: usize,
    /// Those that are trained.
    trainable: usize,
    /// Length of an embedding.
    dim: usize,
}

fn size(experiment: &Experiment) -> Result<Size> {
    let config = &experiment.encoder;
    if let ModelChoice::Pretrained(pretrained) = &config.model {
        let mut folder = wb_encoder::Folder::read(&encoder::pretrained_folder(pretrained)?)?;
        match &config.lora {
            Some(lora) => folder.attach(lora, experiment.seed)?,
            None => folder.model.parameters.iter_mut().for_each(|p| p.trainable = true),
        }
        let (all, trainable) = folder.model.parameters.counts();
        return Ok(Size { dim: folder.model.architecture.dim(), what: folder.name, all, trainable });
    }
    let architecture = config.architecture(config.tokenizer.vocab_size);
    let (n, dim) = architecture.map_or((0, 0), |architecture| {
        let numbers = architecture.weights().iter().map(|weight| weight.shape.iter().product::<usize>()).sum();
        (numbers, architecture.dim())
    });
    let what =
        if matches!(config.model, ModelChoice::Transformer(_)) { "a transformer" } else { "a bag of token vectors" };
    Ok(Size { what: format!("{what} from scratch"), all: n, trainable: n, dim })
}

/// What is allowed and probably not meant.
fn lints(experiment: &Experiment) -> Vec<String> {
    let mut lints = Vec::new();
    if let Err(error) = experiment.device.require_compiled() {
        lints.push(match error.hint() {
            Some(hint) => format!("device: {error}: {hint}"),
            None => format!("device: {error}"),
        });
    }
    let train = &experiment.train;
    let is_fresh = !matches!(experiment.encoder.model, ModelChoice::Pretrained(_));
    if is_fresh && train.optimizer.learning_rate() < 1e-4 {
        lints.push(format!(
            "train.optimizer.adamw.learning_rate: {} suits a pretrained model; fresh weights hardly move with it",
            train.optimizer.learning_rate()
        ));
    }
    lints
}
