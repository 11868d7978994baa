//! The needs of a file, section by section, in the order in which they are met.

use std::path::{Path, PathBuf};

use wb_hub::{RepoKind, RepoRef};
use wb_llm::{EngineConfig, LlmConfig};
use wb_retrieval::mining::{MiningConfig, MiningRetriever};
use wb_synth::snippets::SnippetSourceConfig;

use super::{Need, OWN_ENCODER, State, encoder, of_hub, path, registry, without_network};
use crate::{
    config::{BenchEntry, Experiment, ModelChoice, RagConfig, RetrieverChoice, SourceChoice, TextToSql},
    pipeline::model_file,
};

/// Everything that an experiment needs; `config` is its file, for commands to paste.
pub fn of_experiment(experiment: &Experiment, config: &Path) -> Vec<Need> {
    let mut needs = Vec::new();
    needs.extend(experiment.llm.as_ref().and_then(of_llm));
    for (at, source) in experiment.snippets.iter().flat_map(|snippets| snippets.sources.iter().enumerate()) {
        needs.extend(of_snippets(&format!("snippets.sources[{at}]"), source, config));
    }
    let mut files: Vec<(&str, PathBuf)> = Vec::new();
    if let Some(synth) = &experiment.synth {
        files.extend(synth.judge.iter().filter_map(|judge| Some(("synth.judge.gold", judge.gold.clone()?))));
        files.extend(synth.task_files.iter().map(|file| ("synth.task_files", file.clone())));
    }
    files.extend(experiment.review.clone().map(|file| ("review", file)));
    if let Some(ab) = &experiment.ab {
        files.push(("ab.queries", ab.queries.clone()));
        files.extend(ab.judgements.clone().map(|file| ("ab.judgements", file)));
        needs.extend(ab.encoder.encoder().map(|reference| encoder("ab.encoder", reference)));
    }
    needs.extend(files.iter().map(|(key, file)| path(key, file, config)));
    for (at, source) in experiment.data.sources.iter().enumerate() {
        needs.extend(of_source(&format!("data.sources[{at}]"), source, config));
    }
    needs.extend(of_encoders(experiment));
    needs.extend(experiment.negatives.iter().flat_map(|negatives| of_negatives(negatives, config)));
    for (at, entry) in experiment.bench.benchmarks.iter().enumerate() {
        needs.extend(of_benchmark(&format!("bench.benchmarks[{at}]"), entry, config));
    }
    needs.extend(experiment.rag.iter().flat_map(|rag| of_rag(rag, config)));
    without_network(&mut needs);
    needs
}

/// Everything that a file of text-to-SQL alone needs.
pub fn of_text_to_sql(file: &TextToSql, config: &Path) -> Vec<Need> {
    let of_llm = file.llm.as_ref().and_then(of_llm);
    let mut needs: Vec<Need> = of_llm.into_iter().chain(of_rag(&file.rag, config)).collect();
    without_network(&mut needs);
    needs
}

/// A language model's file; none where a server is asked.
fn of_llm(llm: &LlmConfig) -> Option<Need> {
    let is_asked = !llm.base_url.is_empty() || matches!(llm.engine, EngineConfig::Http(_) | EngineConfig::Replay);
    if is_asked || llm.model.is_empty() {
        return None;
    }
    let state = match model_file::of_hub(llm) {
        Some(file) => of_hub(&file.repo, &|_| vec![file.path.clone()]),
        None if Path::new(&model_file::named(llm).model).is_file() => State::There,
        None => {
            State::Missing("no such file; or name a server that runs: llm.base_url=http://127.0.0.1:8080".to_owned())
        }
    };
    Some(Need { key: "llm.model".to_owned(), what: llm.model.clone(), state })
}

fn of_snippets(key: &str, source: &SnippetSourceConfig, config: &Path) -> Vec<Need> {
    match source {
        SnippetSourceConfig::Tree(tree) => match &tree.files.path {
            Some(folder) => vec![path(key, Path::new(folder), config)],
            None => vec![registry(key)],
        },
        SnippetSourceConfig::Records(records) => match (&records.path, &records.hub) {
            (Some(file), _) => vec![path(key, file, config)],
            (None, Some(hub)) => of_data_set(key, &hub.repo, &hub.revision, &hub.files),
            (None, None) => Vec::new(),
        },
        SnippetSourceConfig::Files(source) => vec![path(key, &source.path, config)],
        SnippetSourceConfig::Sqlite(source) => vec![path(key, &source.path, config)],
        SnippetSourceConfig::Notebooks(source) => vec![path(key, &source.path, config)],
        SnippetSourceConfig::Html(source) => vec![path(key, &source.path, config)],
        SnippetSourceConfig::Markdown(source) => vec![path(key, &source.path, config)],
    }
}

fn of_source(key: &str, source: &SourceChoice, config: &Path) -> Vec<Need> {
    let one = |file: &Path| vec![path(key, file, config)];
    match source {
        SourceChoice::Code(tree) => match &tree.path {
            Some(folder) => one(Path::new(folder)),
            None => vec![registry(key)],
        },
        SourceChoice::Jsonl(files) | SourceChoice::Parquet(files) | SourceChoice::Csv(files) => one(&files.path),
        SourceChoice::ParallelLines(lines) => {
            vec![
                path(&format!("{key}.anchors"), &lines.anchors, config),
                path(&format!("{key}.positives"), &lines.positives, config),
            ]
        }
        SourceChoice::Joined(joined) => {
            vec![
                path(&format!("{key}.left"), &joined.left.path, config),
                path(&format!("{key}.right"), &joined.right.path, config),
            ]
        }
        SourceChoice::CodeMap(map) => one(&map.path),
        SourceChoice::Hub(hub) => of_data_set(key, &hub.repo, &hub.revision, &hub.files),
        SourceChoice::TextToSql(examples) => one(&examples.path),
    }
}

/// Files of a data set of the hub.
fn of_data_set(key: &str, repo: &str, revision: &str, files: &[String]) -> Vec<Need> {
    let state = match RepoRef::new(RepoKind::Dataset, repo, revision, key) {
        Ok(repo) => of_hub(&repo, &|_| files.to_vec()),
        Err(error) => State::Missing(error.to_string()),
    };
    vec![Need { key: key.to_owned(), what: repo.to_owned(), state }]
}

/// The encoder that is trained, and those that judge pairs or guide the loss.
fn of_encoders(experiment: &Experiment) -> Vec<Need> {
    let gates = experiment.data.prepare();
    let judges = [
        ("data.semantic.encoder", gates.semantic.as_ref().map(|gate| &gate.encoder)),
        ("data.consistency.by", gates.consistency.as_ref().and_then(|gate| gate.by.encoder())),
        ("data.difficulty.by", gates.difficulty.as_ref().and_then(|gate| gate.by.encoder())),
        ("train.loss.guide", experiment.train.loss.guide()),
    ];
    let mut needs: Vec<Need> =
        judges.into_iter().filter_map(|(key, reference)| Some(encoder(key, reference?))).collect();
    if let ModelChoice::Pretrained(reference) = &experiment.encoder.model {
        needs.push(encoder(OWN_ENCODER, reference));
        let adapter = reference.adapter.as_deref().map(wb_core::paths::expand_home);
        needs.extend(adapter.map(|adapter| path(&format!("{OWN_ENCODER}.adapter"), &adapter, Path::new(""))));
    }
    needs
}

fn of_negatives(negatives: &MiningConfig, config: &Path) -> Vec<Need> {
    let mut needs = Vec::new();
    if negatives.retriever == MiningRetriever::Encoder && negatives.vectors.is_none() {
        needs.extend(negatives.encoder.iter().map(|reference| encoder("negatives.encoder", reference)));
    }
    let mut files: Vec<(&str, &PathBuf)> = negatives.corpus.iter().map(|file| ("negatives.corpus", file)).collect();
    if let Some(vectors) = &negatives.vectors {
        files.extend([
            ("negatives.vectors.queries", &vectors.queries),
            ("negatives.vectors.query_ids", &vectors.query_ids),
            ("negatives.vectors.documents", &vectors.documents),
            ("negatives.vectors.document_ids", &vectors.document_ids),
        ]);
    }
    if let Some(rescore) = &negatives.rescore {
        files.extend(rescore.file().map(|file| ("negatives.rescore.file", file)));
        let cross = rescore.cross_encoder();
        needs.extend(cross.map(|cross| encoder("negatives.rescore.cross_encoder", &cross.model)));
    }
    needs.extend(files.into_iter().map(|(key, file)| path(key, file, config)));
    needs
}

fn of_benchmark(key: &str, entry: &BenchEntry, config: &Path) -> Vec<Need> {
    let folder = entry.dataset.iter().map(|folder| path(&format!("{key}.dataset"), folder, config));
    let sources = entry.sources.iter().enumerate();
    let of_sources = sources.flat_map(|(at, source)| of_source(&format!("{key}.sources[{at}]"), source, config));
    folder.chain(of_sources).collect()
}

fn of_rag(rag: &RagConfig, config: &Path) -> Vec<Need> {
    let mut needs = vec![path("rag.dataset", &rag.dataset, config)];
    for (at, retriever) in rag.retrievers.iter().enumerate() {
        if let RetrieverChoice::Encoder(arm) = retriever {
            needs.push(encoder(&format!("rag.retrievers[{at}].encoder.model"), &arm.model));
        }
    }
    needs
}
