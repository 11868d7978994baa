//! What a YAML says of data sets, stages and prompts that is allowed and probably not meant.

use wb_pipeline::{config::Experiment, steps::Planned};

/// What is allowed and probably not meant; with prepared pairs, also what they show.
pub fn lints(experiment: &Experiment, planned: Option<&Planned>) -> Vec<String> {
    let mut lints = of_stages(experiment, planned);
    lints.extend(of_prompts(experiment));
    lints
}

/// Data sets that no stage uses, and hard negatives that no pair has.
fn of_stages(experiment: &Experiment, planned: Option<&Planned>) -> Vec<String> {
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
