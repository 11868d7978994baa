//! `wb check`: what is wrong with a YAML, or what it would do.

use std::path::Path;

use anyhow::Result;
use wb_retrieval::mining::{MiningConfig, MiningRetriever};

use super::{End, experiment};
use crate::{
    args,
    config::{Experiment, ModelChoice},
    output,
    pipeline::{data, encoder, preflight},
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
    // Nothing was found wrong until here.
    output::line(format!("{}: fine", arguments.config.display()));
    plan(&experiment, &folder, size);
    for lint in lints(&experiment) {
        output::line(format!("lint: {lint}"));
    }
    Ok(End::Done)
}

/// What would be done, in a few lines.
fn plan(experiment: &Experiment, folder: &Path, (what, all, trainable): (String, usize, usize)) {
    for source in &experiment.data.sources {
        output::line(format!("data      {}", source.name()));
    }
    let pairs = data::card(folder).ok().and_then(|card| card.splits.get("train").map(|split| split.pairs));
    match pairs {
        Some(pairs) => {
            output::line(format!("          {pairs} training pairs, prepared already: {}", folder.display()))
        }
        None => output::line(format!("          to be prepared in {}", folder.display())),
    }
    if let Some(negatives) = &experiment.negatives {
        let rules = negatives.rules();
        let by = match (&negatives.vectors, negatives.retriever, &negatives.encoder) {
            (Some(vectors), ..) => format!("the vectors in {}", vectors.documents.display()),
            (None, MiningRetriever::Bm25, _) => "BM25".to_owned(),
            (None, MiningRetriever::Encoder, Some(name)) => name.clone(),
            (None, MiningRetriever::Encoder, None) => "the encoder before training".to_owned(),
        };
        output::line(format!("negatives {} a pair, ranked by {by}, within {}", rules.per_pair, negatives.ram));
    }
    output::line(format!("encoder   {what}: {all} numbers, {trainable} trained"));
    // Weights, gradients and two moments of what is trained, in 4 bytes each; activations come on top.
    let bytes = 4 * (all + 3 * trainable);
    output::line(format!("memory    {:.1} MB for weights, gradients and optimizer", bytes as f64 / 1e6));
    let train = &experiment.train;
    if let Some(pairs) = pairs {
        let a_step = (train.batch.pairs * train.batch.accumulate) as u64;
        let an_epoch = if train.batch.drop_last { pairs / a_step } else { pairs.div_ceil(a_step) };
        let steps = train.epochs * an_epoch;
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
    let what =
        if matches!(config.model, ModelChoice::Transformer(_)) { "a transformer" } else { "a bag of token vectors" };
    Ok((format!("{what} from scratch"), n, n))
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
    if train.batch.accumulate > 1 {
        lints.push(format!(
            "train.batch.accumulate: {} batches of {} do not see each other's documents as negatives; for one batch of {} in little memory set train.batch.pairs to {} and train.batch.micro_tokens",
            train.batch.accumulate,
            train.batch.pairs,
            train.batch.pairs * train.batch.accumulate,
            train.batch.pairs * train.batch.accumulate
        ));
    }
    if let Some(rules) = experiment.negatives.as_ref().map(MiningConfig::rules) {
        if rules.absolute_margin.is_none() && rules.relative_margin.is_none() && rules.max_score.is_none() {
            lints.push(
                "negatives: without a margin or a greatest score, what ranks above the positive is taken, and much of \
                 that is an answer"
                    .to_owned(),
            );
        }
        if train.negatives < rules.per_pair {
            lints.push(format!(
                "negatives: {} a pair are mined, and training uses {} of them (train.negatives)",
                rules.per_pair, train.negatives
            ));
        }
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
