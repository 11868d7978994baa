//! Lints: values of a YAML that are allowed and probably not meant.

use wb_encoder::{
    DeviceConfig, Folder, Pooling, Precision,
    train::{self, DataFacts, Keep, curriculum::most_negatives},
};
use wb_retrieval::mining::MiningConfig;

use crate::{
    config::{EncoderConfig, Experiment, ModelChoice},
    encoder_size::Size,
    output,
    steps::PlannedTraining,
};

/// All lints; with the encoder's sizes, with prepared pairs and the steps that they give, also about those.
pub fn of_all(experiment: &Experiment, size: Option<&Size>, steps: Option<&PlannedTraining>) -> Vec<String> {
    let dim = Some(size.map_or(0, |size| size.dim));
    let facts = steps.map(|steps| DataFacts { dim, ..steps.facts.clone() });
    // Mined negatives take the place of those that pairs bring.
    let facts = match (facts, experiment.mined_per_pair()) {
        (Some(facts), Some(per_pair)) => Some(facts.with_mined(per_pair)),
        (facts, _) => facts,
    };
    let mut lints = of_experiment(experiment);
    lints.extend(size.into_iter().flat_map(|size| size.lints.clone()));
    lints.extend(experiment.encoder.iter().flat_map(|_| train::lints(&experiment.train, facts.as_ref())));
    lints.extend(of_data(experiment, steps));
    lints
}

/// Prints lints, a line each.
pub fn print(lints: Vec<String>) {
    lints.into_iter().for_each(|lint| output::line(format!("lint: {lint}")));
}

/// Lints about the data; with prepared pairs, also about what they show.
pub fn of_data(experiment: &Experiment, planned: Option<&PlannedTraining>) -> Vec<String> {
    let mut lints = of_stages(experiment, planned);
    lints.extend(of_prompts(experiment));
    lints
}

/// Data sets that no stage uses, and hard negatives that no pair has.
fn of_stages(experiment: &Experiment, planned: Option<&PlannedTraining>) -> Vec<String> {
    let stages = &experiment.train.curriculum;
    let mut lints = Vec::new();
    if !stages.is_empty() && stages.iter().all(|stage| !stage.datasets.is_empty()) {
        let names = experiment.data.as_ref().and_then(|data| data.dataset_names()).unwrap_or_default();
        let unused = names.iter().filter(|name| stages.iter().all(|stage| !stage.datasets.contains(name)));
        lints.extend(unused.map(|name| format!("train.curriculum: no stage uses the data set `{name}`")));
    }
    let of_pairs = planned.map(|planned| (planned.most_negatives, "no training pair has more than"));
    let of_mining = experiment.mined_per_pair().map(|per_pair| (per_pair, "negatives.per_pair mines"));
    let Some((most, why)) = of_mining.or(of_pairs) else { return lints };
    for (at, stage) in stages.iter().enumerate() {
        if let Some(asked) = stage.negatives.filter(|asked| *asked > most) {
            lints.push(format!("train.curriculum[{at}].negatives: asks for {asked} hard negatives, and {why} {most}"));
        }
    }
    lints
}

/// Prompts that the exported encoder does not have.
fn of_prompts(experiment: &Experiment) -> Option<String> {
    let trained = &experiment.train.prompts;
    let own = experiment.encoder.as_ref()?.prompts.clone().unwrap_or_default();
    let differs = |trained: &Option<String>, own: &str| trained.as_deref().is_some_and(|trained| trained != own);
    let only_in_training = differs(&trained.query, &own.query)
        || differs(&trained.document, &own.document)
        || trained
            .datasets
            .values()
            .any(|set| differs(&set.query, &own.query) || differs(&set.document, &own.document));
    only_in_training.then(|| {
        "train.prompts: the encoder is measured and exported with encoder.prompts, which are others".to_owned()
    })
}

/// Lints about a pretrained encoder, as it is before the experiment changes it.
pub fn of_encoder(config: &EncoderConfig, own: &Folder) -> Vec<String> {
    let mut lints = Vec::new();
    let of_vectors = config.late_interaction.is_none() && config.cross_encoder.is_none();
    let one_vector = of_vectors && own.late_interaction.is_none();
    let is_decoder = own.model.architecture.is_causal() && config.bidirectional != Some(true);
    if is_decoder && one_vector {
        match (config.pooling, own.model.pooling) {
            (Some(Pooling::Cls), _) | (None, Pooling::Cls) => lints.push(
                "encoder.pooling: the first token of a decoder sees itself alone, so that `cls` gives all texts the \
                 same vector: encoder.pooling=last"
                    .to_owned(),
            ),
            (None, Pooling::Mean) => lints.push(
                "encoder.pooling: only the last of a decoder's tokens has seen the whole text, and their mean is \
                 taken; unless its model card says so: encoder.pooling=last"
                    .to_owned(),
            ),
            _ => {}
        }
    }
    if let Some(prompts) = &config.prompts {
        let sides =
            [("query", &prompts.query, &own.prompts.query), ("document", &prompts.document, &own.prompts.document)];
        for (side, given, own_prompt) in sides {
            if given.is_empty() && !own_prompt.is_empty() {
                let name = &own.name;
                lints.push(format!("encoder.prompts.{side}: is left out, and {name} was made with {own_prompt:?}"));
            }
        }
    }
    lints
}

/// A name that papers and posts give, which no model has.
fn of_name(experiment: &Experiment) -> Option<String> {
    let id = &experiment.pretrained()?.id;
    id.to_lowercase().ends_with("bge-code-large-en").then(|| {
        format!(
            "encoder.model.pretrained: there is no {id}; the code model of that family is BAAI/bge-code-v1, a Qwen2 of \
             1.5 billion numbers: encoder.model.pretrained=BAAI/bge-code-v1"
        )
    })
}

/// Lints about names, devices, training and mining.
pub fn of_experiment(experiment: &Experiment) -> Vec<String> {
    let mut lints: Vec<String> = of_name(experiment).into_iter().collect();
    for error in experiment.device.iter().filter_map(|device| device.require_compiled().err()) {
        lints.push(match error.hint() {
            Some(hint) => format!("device: {error}: {hint}"),
            None => format!("device: {error}"),
        });
    }
    let train = &experiment.train;
    if train.keep == Keep::Best && experiment.data.as_ref().is_some_and(|data| data.split.validation == 0.0) {
        lints.push(
            "train.keep: `best` is chosen by validation pairs, and data.split.validation is 0; training will refuse it: \
             train.keep=last"
                .to_owned(),
        );
    }
    let holds_none_out = experiment.data.as_ref().is_some_and(|data| data.split.test == 0.0);
    if let Some(at) = experiment.of_held_out().filter(|_| holds_none_out && experiment.encoder.is_some()) {
        lints.push(format!(
            "bench.benchmarks[{at}]: `pairs` measures held-out pairs, and data.split.test is 0; `wb run` will refuse it, \
             `wb train` will not: data.split.test=0.05"
        ));
    }
    let model = experiment.encoder.as_ref().map(|encoder| &encoder.model);
    let has_layers = !matches!(model, Some(ModelChoice::StaticEmbedding(_)));
    let asks_words = train.objectives.mlm.as_ref().is_some_and(|mlm| mlm.weight > 0.0);
    if asks_words && !has_layers {
        lints.push("train.objectives.mlm: a bag of token vectors has no context to tell a hidden token from; training will refuse it".to_owned());
    }
    if train.gradient_checkpointing && !has_layers {
        lints.push("train.gradient_checkpointing: a bag of token vectors has no layers to compute again; training will refuse it".to_owned());
    }
    let precision = train.precision.name();
    if train.precision != Precision::Fp32 && !has_layers {
        lints.push(format!("train.precision: got {precision}, and a bag of token vectors has no products to compute in it; training will refuse it"));
    }
    if train.precision != Precision::Fp32 && experiment.device.iter().any(|device| device == DeviceConfig::Cpu) {
        lints.push(format!("train.precision: got {precision}, and the processor trains in fp32; training will refuse it: train.precision=fp32"));
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
    let has_teacher = experiment.encoder.as_ref().is_some_and(|encoder| encoder.from_teacher().is_some());
    let is_fresh = model.is_some() && !experiment.has_pretrained() && !has_teacher;
    if is_fresh && train.optimizer.learning_rate() < 1e-4 {
        lints.push(format!(
            "train.optimizer.adamw.learning_rate: {} suits a pretrained model; fresh weights hardly move with it",
            train.optimizer.learning_rate()
        ));
    }
    lints
}
