//! `wb check`: what is wrong with a YAML, or what it would do.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wb_core::paths::expand_home;
use wb_encoder::train::{Keep, curriculum::most_negatives};
use wb_retrieval::mining::{MiningConfig, MiningRetriever, RescoreConfig};

use super::{End, bench_sql::generate, data_lints, experiment, recipes};
use crate::{
    args,
    config::{Experiment, ModelChoice, TextToSql},
    output,
    pipeline::{cost, data, encoder, preflight, steps},
};

/// `wb check`
pub fn check(args::Check { given, resolved, no_probe }: args::Check) -> Result<End> {
    let Some(arguments) = recipes::given_or_listed("check", given)? else { return Ok(End::Done) };
    let arguments = &arguments;
    if TextToSql::is_alone(&arguments.config) {
        return text_to_sql(arguments, resolved);
    }
    let experiment = experiment::load(arguments)?;
    if resolved {
        output::line(wb_core::config::to_text(&experiment)?.trim_end());
        return Ok(End::Done);
    }
    if let Some(pairs) = preflight::unmade_pairs(&experiment) {
        preflight::but_pairs(&experiment)?;
        let file = arguments.config.display();
        output::line(format!("{file}: fine, as far as it can be known before its pairs are there"));
        output::line(format!("data      {}, to be made first: wb synth {file}", pairs.display()));
        for lint in lints(&experiment).into_iter().chain(of_synthesis(&experiment)) {
            output::line(format!("lint: {lint}"));
        }
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
    // Mined negatives take the place of those that pairs bring.
    let facts = match (facts, experiment.mined_per_pair()) {
        (Some(facts), Some(per_pair)) => Some(facts.with_mined(per_pair)),
        (facts, _) => facts,
    };
    let of_training = wb_encoder::train::lints(&experiment.train, facts.as_ref());
    let of_data = data_lints::lints(&experiment, steps.as_ref());
    for lint in lints(&experiment).into_iter().chain(of_training).chain(of_data) {
        output::line(format!("lint: {lint}"));
    }
    if steps.is_none() {
        let file = arguments.config.display();
        output::line(format!("lints about the pairs come after `wb data {file}`; they are not prepared yet"));
    }
    if experiment.rag.is_some() {
        let file = TextToSql::load(&arguments.config, &arguments.overrides)?;
        generate::check::lines(&file, &arguments.places.runs)?;
    }
    cost::lines(&experiment, &folder, steps.as_ref(), !no_probe)?.into_iter().for_each(output::line);
    Ok(End::Done)
}

/// A file that trains nothing.
fn text_to_sql(arguments: &args::Experiment, resolved: bool) -> Result<End> {
    let file = TextToSql::load(&arguments.config, &arguments.overrides)
        .with_context(|| format!("cannot load {}", arguments.config.display()))?;
    if resolved {
        output::line(wb_core::config::to_text(&file)?.trim_end());
        return Ok(End::Done);
    }
    generate::check::data(&file.rag)?;
    output::line(format!("{}: fine", arguments.config.display()));
    generate::check::lines(&file, &arguments.places.runs)?;
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
    if let Some(negatives) = &experiment.negatives {
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
                format!(", {depth} a query rescored by {} on the processor", cross.model)
            }
        };
        output::line(format!(
            "negatives {} a pair, ranked by {by}{rescored}, within {}",
            rules.per_pair, negatives.ram
        ));
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
    for line in objectives(experiment) {
        output::line(line);
    }
    if train.gradient_checkpointing {
        output::line("          gradient checkpointing: layers are computed twice, and only their inputs are kept");
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

/// Files that `wb synth` will look for and not find.
fn of_synthesis(experiment: &Experiment) -> Vec<String> {
    let mut named: Vec<(&str, PathBuf)> = Vec::new();
    if let Some(llm) = &experiment.llm
        && llm.base_url.is_empty()
        && !llm.model.is_empty()
    {
        named.push(("llm.model", expand_home(Path::new(&llm.model))));
    }
    if let Some(synth) = &experiment.synth {
        let gold = synth.judge.as_ref().and_then(|judge| judge.gold.clone());
        named.extend(gold.map(|path| ("synth.judge.gold", path)));
        named.extend(synth.task_files.iter().map(|path| ("synth.task_files", path.clone())));
    }
    named.extend(experiment.review.clone().map(|path| ("review", path)));
    if let Some(ab) = &experiment.ab {
        named.push(("ab.queries", ab.queries.clone()));
        named.extend(ab.judgements.clone().map(|path| ("ab.judgements", path)));
    }
    let missing = named.into_iter().filter(|(_, path)| !path.is_file());
    missing.map(|(key, path)| format!("{key}: there is no file {}", path.display())).collect()
}

/// What is lowered beside the loss on pairs.
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
        let mut folder = wb_encoder::Folder::read(&encoder::locate(pretrained)?)?;
        if let Some(late) = &config.late_interaction {
            folder.add_late_interaction(late, experiment.seed, "encoder.late_interaction")?;
        }
        match &config.lora {
            Some(lora) => folder.attach(lora, experiment.seed)?,
            None => folder.model.parameters.iter_mut().for_each(|p| p.trainable = true),
        }
        let (all, trainable) = folder.model.parameters.counts();
        return Ok(Size { dim: folder.dim(), what: folder.name, all, trainable });
    }
    let architecture = config.architecture(config.tokenizer.vocab_size);
    let (n, dim) = architecture.map_or((0, 0), |architecture| {
        let numbers = architecture.weights().iter().map(|weight| weight.shape.iter().product::<usize>()).sum();
        (numbers, architecture.dim())
    });
    // The matrix of late interaction, from the width of a state to the length of a token's vector.
    let (n, dim) = config.late_interaction.as_ref().map_or((n, dim), |late| (n + dim * late.dim, late.dim));
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
    if train.keep == Keep::Best && experiment.data.split.validation == 0.0 {
        lints.push(
            "train.keep: `best` is chosen by validation pairs, and data.split.validation is 0; training will refuse it: \
             train.keep=last"
                .to_owned(),
        );
    }
    let has_layers = !matches!(experiment.encoder.model, ModelChoice::StaticEmbedding(_));
    let asks_words = train.objectives.mlm.as_ref().is_some_and(|mlm| mlm.weight > 0.0);
    if asks_words && !has_layers {
        lints.push("train.objectives.mlm: a bag of token vectors has no context to tell a hidden token from; training will refuse it".to_owned());
    }
    if train.gradient_checkpointing && !has_layers {
        lints.push("train.gradient_checkpointing: a bag of token vectors has no layers to compute again; training will refuse it".to_owned());
    }
    if let Some(rules) = experiment.negatives.as_ref().map(MiningConfig::rules) {
        if rules.absolute_margin.is_none() && rules.relative_margin.is_none() && rules.max_score.is_none() {
            lints.push(
                "negatives: without a margin or a greatest score, what ranks above the positive is taken, and much of \
                 that is an answer"
                    .to_owned(),
            );
        }
        let used = most_negatives(train);
        if used < rules.per_pair {
            let by = match train.curriculum.is_empty() {
                true => format!("training uses {used} of them (train.negatives)"),
                false => format!("no stage of the curriculum uses more than {used} of them"),
            };
            lints.push(format!("negatives: {} a pair are mined, and {by}", rules.per_pair));
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
