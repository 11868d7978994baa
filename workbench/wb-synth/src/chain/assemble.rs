//! Candidates that stayed become pairs, in the fixed order task, item, sample.

use wb_core::{Origin, Pair, PairSet, Task, fingerprint::Fingerprint};
use wb_llm::EngineInfo;

use super::{Stage, candidate::Candidate};
use crate::{
    Result,
    config::DatasetNames,
    provenance::{Maker, Provenance},
    tasks::SnippetRole,
};

/// The pairs and where each came from.
pub(super) fn run(stage: &Stage, kept: &[Candidate], info: &EngineInfo) -> Result<(PairSet, Vec<Provenance>)> {
    let pairs = kept.iter().map(|candidate| pair(stage, candidate)).collect();
    let provenance = kept.iter().map(|candidate| provenance(stage, candidate, info)).collect();
    Ok((PairSet::new(pairs)?, provenance))
}

fn pair(stage: &Stage, candidate: &Candidate) -> Pair {
    let item = &stage.items[candidate.item];
    let chosen = stage.task_of(candidate);
    let snippet = &stage.snippets[item.snippet];
    // Of the document, where that is code; for code to text, of the query.
    let language = match item.target {
        Some(target) if chosen.task.snippet != SnippetRole::Document && chosen.kind != Task::Code2text => target,
        _ => &item.language,
    };
    let dataset = match stage.config.datasets {
        DatasetNames::Task => chosen.name(),
        DatasetNames::Kind => chosen.kind.as_str().to_owned(),
    };
    Pair {
        id: candidate.id.clone(),
        task: chosen.kind,
        language: language.to_owned(),
        anchor: candidate.query.clone(),
        positive: candidate.document.clone(),
        negatives: candidate.negatives.iter().map(|text| text.as_str().into()).collect(),
        scores: Vec::new(),
        origin: Origin { dataset, ..snippet.origin.clone() },
    }
}

fn provenance(stage: &Stage, candidate: &Candidate, info: &EngineInfo) -> Provenance {
    let item = &stage.items[candidate.item];
    let snippet = &stage.snippets[item.snippet];
    Provenance {
        id: candidate.id.clone(),
        made_by: Maker::Model,
        task: stage.task_of(candidate).name(),
        item: snippet.id.clone(),
        sample: candidate.sample,
        language: item.language.clone(),
        target_language: item.target.unwrap_or_default().to_owned(),
        source: snippet.origin.clone(),
        prompt_hash: Fingerprint::of_json(&candidate.prompts).to_string(),
        seed: stage.seed.0,
        asked: candidate.asked.clone(),
        label: candidate.label,
        clarity: Some(candidate.clarity),
        review: candidate.review,
        ..Provenance::of_model(info)
    }
}
