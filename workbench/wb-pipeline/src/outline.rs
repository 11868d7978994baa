//! A YAML's work in a few lines, before anything of it is done: what is read, mined, trained and measured.

use std::path::Path;

use wb_bench::BenchmarkConfig;
use wb_core::quantities;
use wb_encoder::Precision;
use wb_retrieval::mining::{MiningRetriever, RescoreConfig};

use crate::{config::Experiment, encoder_size::Size, output, steps};

/// Prints what is known of a YAML's work before it begins.
pub fn print(
    experiment: &Experiment,
    folder: Option<&Path>,
    size: Option<&Size>,
    steps: Option<&steps::PlannedTraining>,
) {
    for source in experiment.data.iter().flat_map(|data| &data.sources) {
        output::line(format!("data      {}", source.name()));
    }
    match (folder, steps) {
        (Some(folder), Some(steps)) => {
            output::line(format!("          {} training pairs, prepared already: {}", steps.pairs, folder.display()))
        }
        (Some(folder), None) => output::line(format!("          to be prepared in {}", folder.display())),
        (None, _) => {}
    }
    let negatives = experiment.negatives.as_ref();
    if let Some(mined) = negatives.and_then(|negatives| negatives.mined.as_ref()) {
        output::line(format!("negatives mined before: {}", mined.display()));
    } else if let Some(negatives) = negatives {
        let rules = negatives.rules();
        let by = match (&negatives.vectors, negatives.retriever, &negatives.encoder) {
            (Some(vectors), ..) => format!("the vectors in {}", vectors.documents.display()),
            (None, MiningRetriever::Bm25, _) => "BM25".to_owned(),
            (None, MiningRetriever::Encoder, Some(name)) => name.to_string(),
            (None, MiningRetriever::Encoder, None) => "the encoder before training".to_owned(),
        };
        let rescored = match &negatives.rescore {
            None => String::new(),
            Some(RescoreConfig::File(file)) => format!(", rescored by {}", file.display()),
            Some(RescoreConfig::CrossEncoder(cross)) => {
                let (_, depth) = rules.depth(1, 1, true);
                format!(", {depth} a query rescored by {}", cross.model)
            }
        };
        output::line(format!(
            "negatives {} a pair, ranked by {by}{rescored}, within {}",
            rules.per_pair, negatives.ram
        ));
    }
    if let Some(Size { what, all, trainable, bytes, .. }) = size {
        output::line(format!("encoder   {what}: {all} numbers, {trainable} trained"));
        let bytes = quantities::bytes(*bytes as u64);
        output::line(format!("memory    {bytes} for weights, gradients and optimizer"));
    }
    // Training and benchmarks have defaults, which say nothing where there is no encoder.
    if experiment.encoder.is_none() {
        return;
    }
    let train = &experiment.train;
    match steps {
        Some(steps) => steps.lines(train).into_iter().for_each(output::line),
        None => output::line(format!("train     {} epochs in batches of {}", train.epochs, train.batch.pairs)),
    }
    for line in objectives(experiment) {
        output::line(line);
    }
    if train.gradient_checkpointing {
        output::line("          gradient checkpointing: layers are computed twice, and only their inputs are kept");
    }
    if train.precision != Precision::Fp32 {
        output::line(format!("          products in {}, weights and sums in 32 bits", train.precision.name()));
    }
    for entry in &experiment.bench.benchmarks {
        let card = entry.benchmark.benchmark().card();
        let sources: Vec<String> = entry.sources.iter().map(|source| source.name()).collect();
        let place = match (&entry.dataset, sources.is_empty()) {
            (None, true) if matches!(entry.benchmark, BenchmarkConfig::Search(_)) => {
                let tree = experiment.data.as_ref().and_then(|data| data.repository().ok());
                let path = tree.and_then(|(tree, _)| tree.path.clone()).unwrap_or_default();
                format!(" on files of {path} that are not trained on")
            }
            (Some(path), _) => format!(" on {}", path.display()),
            (None, false) => format!(" on {}", sources.join(", ")),
            (None, true) => String::new(),
        };
        output::line(format!("bench     {}{place}", card.name));
    }
}

/// Objectives that are lowered beside the loss on pairs.
fn objectives(experiment: &Experiment) -> Vec<String> {
    let config = &experiment.train.objectives;
    let weights = config.weights();
    if weights.is_empty() {
        return Vec::new();
    }
    let told = |(name, weight): &(&str, f64)| match *name {
        "mlm" => {
            let share = config.mlm.as_ref().map_or(0.0, |mlm| mlm.mask_share);
            format!("mlm × {weight} ({:.0} % of tokens)", 100.0 * share)
        }
        "ast_nodes" => format!("ast_nodes × {weight} ({} kinds)", wb_code::node_kinds().len()),
        _ => {
            let classes = config.types.as_ref().map_or(0, |types| types.classes);
            format!("{name} × {weight} ({classes} most common types)")
        }
    };
    let list: Vec<String> = weights.iter().map(told).collect();
    vec![format!("          also {}: one more pass over the code of each batch", list.join(", "))]
}
