//! Everything outside of a YAML that its sections name, in the order of the sections: walked once, for the table of needs
//! and for what opens it before a command begins.

use std::path::{Path, PathBuf};

use wb_core::EncoderRef;
use wb_hub::{RepoKind, RepoRef};
use wb_llm::{EngineConfig, LlmConfig};
use wb_retrieval::mining::{CrossEncoderConfig, MiningConfig, MiningRetriever};
use wb_synth::snippets::SnippetSourceConfig;

use super::{Need, NeedState, OWN_ENCODER, TEACHER, encoder, of_hub, path, registry, without_network};
use crate::{
    config::{EncoderConfig, Experiment, RetrieverChoice, SourceChoice},
    model_file,
};

/// One thing outside of a YAML, by the config path that names it.
pub struct Asset<'a> {
    /// The config path.
    pub key: String,
    /// The thing.
    pub kind: AssetKind<'a>,
}

/// The kinds of things that sections name.
pub enum AssetKind<'a> {
    /// A file.
    File(&'a Path),
    /// A folder.
    Folder(PathBuf),
    /// A source of pairs.
    Source(&'a SourceChoice),
    /// A source of snippets.
    Snippets(&'a SnippetSourceConfig),
    /// A language model.
    LanguageModel(&'a LlmConfig),
    /// An encoder whose cosines judge pairs or guide a loss, with its role in a sentence.
    Judge(&'a EncoderRef, &'static str),
    /// Any other encoder.
    Encoder(&'a EncoderRef),
    /// A model that reads query and document together.
    CrossEncoder(&'a CrossEncoderConfig),
}

/// Everything that an experiment needs; `config` is its file, for commands to paste.
pub fn of_experiment(experiment: &Experiment, config: &Path) -> Vec<Need> {
    let mut needs: Vec<Need> = assets(experiment).iter().flat_map(|asset| needs_of(asset, config)).collect();
    without_network(&mut needs);
    needs
}

/// Everything that the sections of an experiment name.
pub fn assets(experiment: &Experiment) -> Vec<Asset<'_>> {
    let mut all = Assets(Vec::new());
    all.of_synthesis(experiment);
    all.of_data(experiment);
    if let Some(guide) = experiment.train.loss.guide() {
        let (key, role) = match experiment.train.loss.guide_key() {
            "teacher" => ("train.loss.teacher", "the teacher"),
            _ => ("train.loss.guide", "the guide"),
        };
        all.add(key, AssetKind::Judge(guide, role));
    }
    if let Some(reference) = experiment.pretrained() {
        all.add(OWN_ENCODER, AssetKind::Encoder(reference));
        all.extend(&format!("{OWN_ENCODER}.adapter"), reference.adapter.clone().map(AssetKind::Folder));
    }
    if let Some((teacher, _)) = experiment.encoder.as_ref().and_then(EncoderConfig::from_teacher) {
        all.add(TEACHER, AssetKind::Encoder(teacher));
        all.extend(&format!("{TEACHER}.adapter"), teacher.adapter.clone().map(AssetKind::Folder));
    }
    if let Some(negatives) = &experiment.negatives {
        all.of_negatives(negatives);
    }
    for (at, entry) in experiment.bench.benchmarks.iter().enumerate() {
        let key = format!("bench.benchmarks[{at}]");
        all.extend(&format!("{key}.dataset"), entry.dataset.clone().map(AssetKind::Folder));
        all.of_sources(&key, &entry.sources);
    }
    if let Some(rag) = &experiment.rag {
        all.add("rag.dataset", AssetKind::Folder(rag.dataset.clone()));
        for (at, retriever) in rag.retrievers.iter().enumerate() {
            if let RetrieverChoice::Encoder(arm) = retriever {
                all.add(&format!("rag.retrievers[{at}].encoder.model"), AssetKind::Encoder(&arm.model));
            }
        }
    }
    all.0
}

/// Things that were found on the way.
struct Assets<'a>(Vec<Asset<'a>>);

impl<'a> Assets<'a> {
    fn add(&mut self, key: &str, kind: AssetKind<'a>) {
        self.0.push(Asset { key: key.to_owned(), kind });
    }

    fn extend(&mut self, key: &str, kinds: impl IntoIterator<Item = AssetKind<'a>>) {
        kinds.into_iter().for_each(|kind| self.add(key, kind));
    }

    /// Adds what `wb synth` and `wb ab` read.
    fn of_synthesis(&mut self, experiment: &'a Experiment) {
        self.extend("llm.model", experiment.llm.as_ref().map(AssetKind::LanguageModel));
        for (at, source) in experiment.snippets.iter().flat_map(|snippets| snippets.sources.iter().enumerate()) {
            self.add(&format!("snippets.sources[{at}]"), AssetKind::Snippets(source));
        }
        if let Some(synth) = &experiment.synth {
            let gold = synth.judge.as_ref().and_then(|judge| judge.gold.as_deref());
            self.extend("synth.judge.gold", gold.map(AssetKind::File));
            self.extend("synth.task_files", synth.task_files.iter().map(|file| AssetKind::File(file)));
        }
        self.extend("review", experiment.review.as_deref().map(AssetKind::File));
        if let Some(ab) = &experiment.ab {
            self.add("ab.queries", AssetKind::File(&ab.queries));
            self.extend("ab.judgements", ab.judgements.as_deref().map(AssetKind::File));
            self.extend("ab.encoder", ab.encoder.encoder().map(AssetKind::Encoder));
        }
    }

    /// Sources of pairs, and encoders that judge them.
    fn of_data(&mut self, experiment: &'a Experiment) {
        let Some(data) = &experiment.data else { return };
        self.of_sources("data", &data.sources);
        let judges = [
            ("data.semantic.encoder", data.semantic.as_ref().map(|gate| &gate.encoder)),
            ("data.consistency.by", data.consistency.as_ref().and_then(|gate| gate.by.encoder())),
            ("data.difficulty.by", data.difficulty.as_ref().and_then(|gate| gate.by.encoder())),
        ];
        for (key, judge) in judges {
            self.extend(key, judge.map(|judge| AssetKind::Judge(judge, "what judges pairs")));
        }
    }

    fn of_sources(&mut self, key: &str, sources: &'a [SourceChoice]) {
        for (at, source) in sources.iter().enumerate() {
            self.add(&format!("{key}.sources[{at}]"), AssetKind::Source(source));
        }
    }

    fn of_negatives(&mut self, negatives: &'a MiningConfig) {
        let ranks = negatives.vectors.is_none() && negatives.mined.is_none();
        if negatives.retriever == MiningRetriever::Encoder && ranks {
            self.extend("negatives.encoder", negatives.encoder.as_ref().map(AssetKind::Encoder));
        }
        let rescore = negatives.rescore.as_ref();
        let cross = rescore.and_then(|rescore| rescore.cross_encoder());
        self.extend("negatives.rescore.cross_encoder", cross.map(AssetKind::CrossEncoder));
        self.extend("negatives.corpus", negatives.corpus.as_deref().map(AssetKind::File));
        self.extend("negatives.mined", negatives.mined.as_deref().map(AssetKind::File));
        if let Some(vectors) = &negatives.vectors {
            for (key, file) in [
                ("negatives.vectors.queries", &vectors.queries),
                ("negatives.vectors.query_ids", &vectors.query_ids),
                ("negatives.vectors.documents", &vectors.documents),
                ("negatives.vectors.document_ids", &vectors.document_ids),
            ] {
                self.add(key, AssetKind::File(file));
            }
        }
        let file = rescore.and_then(|rescore| rescore.file());
        self.extend("negatives.rescore.file", file.map(|file| AssetKind::File(file)));
    }
}

/// The needs of a thing, which may be several files; none where nothing has to be there.
fn needs_of(asset: &Asset<'_>, config: &Path) -> Vec<Need> {
    let key = asset.key.as_str();
    match &asset.kind {
        AssetKind::File(file) => vec![path(key, file, config)],
        AssetKind::Folder(folder) => vec![path(key, folder, config)],
        AssetKind::Source(source) => of_source(key, source, config),
        AssetKind::Snippets(source) => of_snippets(key, source, config),
        AssetKind::LanguageModel(llm) => of_llm(llm).into_iter().collect(),
        AssetKind::Judge(reference, _) | AssetKind::Encoder(reference) => vec![encoder(key, reference)],
        AssetKind::CrossEncoder(cross) => vec![encoder(key, &cross.model)],
    }
}

/// A language model's file; none where a server is asked.
fn of_llm(llm: &LlmConfig) -> Option<Need> {
    let is_asked = !llm.base_url.is_empty() || matches!(llm.engine, EngineConfig::Http(_) | EngineConfig::Replay);
    if is_asked || llm.model.is_empty() {
        return None;
    }
    let state = match model_file::of_hub(llm) {
        Some(file) => of_hub(&file.repo, &|_| vec![file.path.clone()]),
        None if Path::new(&llm.model).is_file() => NeedState::There,
        None => NeedState::Missing(
            "no such file; or name a server that runs: llm.base_url=http://127.0.0.1:8080".to_owned(),
        ),
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
    let of = |part: &str, file: &Path| path(&format!("{key}.{part}"), file, config);
    match source {
        SourceChoice::Code(tree) if tree.optional => Vec::new(),
        SourceChoice::Code(tree) => match &tree.path {
            Some(folder) => one(Path::new(folder)),
            None => vec![registry(key)],
        },
        SourceChoice::Jsonl(files) | SourceChoice::Parquet(files) | SourceChoice::Csv(files) => one(&files.path),
        SourceChoice::ParallelLines(lines) => vec![of("anchors", &lines.anchors), of("positives", &lines.positives)],
        SourceChoice::Joined(joined) => vec![of("left", &joined.left.path), of("right", &joined.right.path)],
        SourceChoice::CodeMap(map) => one(&map.path),
        SourceChoice::Hub(hub) => of_data_set(key, &hub.repo, &hub.revision, &hub.files),
        SourceChoice::TextToSql(pairs) => one(&pairs.0.path),
    }
}

/// Files of a data set of the hub.
fn of_data_set(key: &str, repo: &str, revision: &str, files: &[String]) -> Vec<Need> {
    let state = match RepoRef::new(RepoKind::Dataset, repo, revision, key) {
        Ok(repo) => of_hub(&repo, &|_| files.to_vec()),
        Err(error) => NeedState::Missing(error.to_string()),
    };
    vec![Need { key: key.to_owned(), what: repo.to_owned(), state }]
}
