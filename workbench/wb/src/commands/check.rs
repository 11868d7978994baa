//! `wb check`: what is wrong with a YAML, or what it would do.

use anyhow::Result;

use super::{End, experiment};
use crate::{
    args,
    config::{Experiment, ModelChoice},
    output,
    pipeline::{data, encoder},
};

/// `wb check`
pub fn check(arguments: &args::Experiment) -> Result<End> {
    let experiment = experiment::load(arguments)?;
    output::line(format!("{}: fine", arguments.config.display()));
    plan(&experiment, arguments)?;
    for lint in lints(&experiment) {
        output::line(format!("lint: {lint}"));
    }
    Ok(End::Done)
}

fn plan(experiment: &Experiment, arguments: &args::Experiment) -> Result<()> {
    for source in &experiment.data.sources {
        output::line(format!("data      {}", source.name()));
    }
    let fingerprint = data::fingerprint(experiment)?;
    let folder = arguments.places.datasets.join(format!("{}-{}", experiment.name, fingerprint.short()));
    let pairs = data::card(&folder).ok().and_then(|card| card.splits.get("train").map(|split| split.pairs));
    match pairs {
        Some(pairs) => output::line(format!("          {pairs} training pairs, prepared already: {}", folder.display())),
        None => output::line(format!("          to be prepared in {}", folder.display())),
    }
    let (what, all, trainable) = size(experiment)?;
    output::line(format!("encoder   {what}: {all} numbers, {trainable} trained"));
    // Weights, gradients and two moments of what is trained, in 4 bytes each; activations come on top.
    let bytes = 4 * (all + 3 * trainable);
    output::line(format!("memory    {:.0} MB for weights, gradients and optimizer", bytes as f64 / 1e6));
    let train = &experiment.train;
    if let Some(pairs) = pairs {
        let a_step = (train.batch.pairs * train.batch.accumulate) as u64;
        let steps = train.epochs * pairs.div_ceil(a_step);
        let steps = if train.max_steps > 0 { steps.min(train.max_steps) } else { steps };
        output::line(format!("train     {steps} steps of {a_step} pairs, {} epochs", train.epochs));
    } else {
        output::line(format!("train     {} epochs in batches of {}", train.epochs, train.batch.pairs));
    }
    for entry in &experiment.bench.benchmarks {
        let card = entry.benchmark.benchmark().card();
        let place = entry.dataset.as_ref().map(|path| format!(" on {}", path.display())).unwrap_or_default();
        output::line(format!("bench     {}{place}", card.name));
    }
    Ok(())
}

/// The encoder in words, its numbers, and those that are trained.
fn size(experiment: &Experiment) -> Result<(String, usize, usize)> {
    let config = &experiment.encoder;
    if let ModelChoice::Pretrained(pretrained) = &config.model {
        let mut folder = wb_encoder::Folder::read(&encoder::pretrained_folder(pretrained)?)?;
        match &config.lora {
            Some(lora) => folder.attach(lora, experiment.seed)?,
            None => folder.model.parameters.iter_mut().for_each(|p| p.trainable = true),
        }
        let (all, trainable) = folder.model.parameters.counts();
        return Ok((folder.name, all, trainable));
    }
    let n = config.architecture(config.tokenizer.vocab_size).map_or(0, |architecture| {
        architecture.weights().iter().map(|weight| weight.shape.iter().product::<usize>()).sum()
    });
    let what = if matches!(config.model, ModelChoice::Transformer(_)) { "a transformer" } else { "a bag of token vectors" };
    Ok((format!("{what} from scratch"), n, n))
}

/// What is allowed and probably not meant.
fn lints(experiment: &Experiment) -> Vec<String> {
    let mut lints = Vec::new();
    let train = &experiment.train;
    if train.batch.accumulate > 1 {
        lints.push(format!(
            "train.batch.accumulate: {} batches of {} do not see each other's documents as negatives; for one batch of {} in little memory set train.batch.pairs to {} and train.batch.micro_tokens",
            train.batch.accumulate,
            train.batch.pairs,
            train.batch.pairs * train.batch.accumulate,
            train.batch.pairs * train.batch.accumulate
        ));
    }
    let is_fresh = !matches!(experiment.encoder.model, ModelChoice::Pretrained(_));
    if is_fresh && train.optimizer.learning_rate() < 1e-4 {
        lints.push(format!(
            "train.optimizer.adamw.learning_rate: {} suits a pretrained model; fresh weights hardly move with it",
            train.optimizer.learning_rate()
        ));
    }
    lints
}
