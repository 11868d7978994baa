//! The `bench:` section: what is measured, and against what.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_bench::BenchmarkConfig;
use wb_core::{Error, Result};
use wb_retrieval::{Bm25Config, FusionConfig};
use wb_synth::annotate::EmbedText;

use super::data::SourceChoice;

/// Benchmarks of a run, and the contestants in them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BenchConfig {
    /// A list; the run's verdict is about the first.
    pub benchmarks: Vec<BenchEntry>,
    /// Contestants that are measured in every run.
    pub contestants: Vec<ContestantName>,
    /// The lexical baseline.
    pub bm25: Bm25Config,
    /// Fusion of the scores of BM25 and the trained encoder into one.
    pub fusion: FusionConfig,
    /// Number of each query's first documents by BM25 that a cross-encoder (`encoder.cross_encoder`) orders; the rest
    /// stay below as they were. Time grows with it.
    pub rerank_top: usize,
    /// Text that encoders embed of a document, where that is not its own: `embed` (`code`, `annotation`, `both`,
    /// `concat`) and `annotations` (the file of `wb synth`); BM25 reads the text itself. An annotation is found by the
    /// exact text of a document; how many have none is told.
    pub documents: Option<DocumentsConfig>,
    /// Number of the best and of the worst queries that the report shows.
    pub examples: usize,
}

/// Text to embed of documents that a language model annotated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentsConfig {
    /// `code`, `annotation`, `both`, `concat`.
    pub embed: EmbedText,
    /// The annotations: `annotations.jsonl` of `wb synth`.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub annotations: PathBuf,
}

/// A contestant in the benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContestantName {
    /// The lexical baseline.
    Bm25,
    /// The encoder before training.
    Untrained,
    /// The encoder after training.
    Trained,
    /// The trained encoder's scores with BM25's.
    #[serde(rename = "bm25+trained")]
    Fused,
}

impl ContestantName {
    /// The name in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::Untrained => "untrained",
            Self::Trained => "trained",
            Self::Fused => "bm25+trained",
        }
    }
}

impl Default for BenchConfig {
    fn default() -> Self {
        Self {
            benchmarks: vec![BenchEntry {
                benchmark: BenchmarkConfig::Pairs(Default::default()),
                dataset: None,
                sources: Vec::new(),
            }],
            contestants: vec![
                ContestantName::Bm25,
                ContestantName::Untrained,
                ContestantName::Trained,
                ContestantName::Fused,
            ],
            bm25: Bm25Config::default(),
            fusion: FusionConfig::default(),
            rerank_top: 100,
            documents: None,
            examples: 8,
        }
    }
}

/// One benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchEntry {
    /// One of `pairs`, `codesearchnet`, `cosqa`, `stackoverflow-qa`, `beir`, `search`.
    pub benchmark: BenchmarkConfig,
    /// The folder with its data, which all but `pairs` need. Of `search` the repository; without it, that of the first of
    /// `data.sources`, of which only files are asked for that training has not seen.
    #[serde(default, deserialize_with = "wb_core::paths::typed", skip_serializing_if = "Option::is_none")]
    pub dataset: Option<PathBuf>,
    /// Other pairs to measure on, of `pairs` only, from the same kinds of sources as `data.sources`, all of them and as
    /// they are read; empty for the test pairs of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceChoice>,
}

impl BenchConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        self.fusion.validate(&format!("{key}.fusion"))?;
        for (at, contestant) in self.contestants.iter().enumerate() {
            if self.contestants[..at].contains(contestant) {
                let message = format!("`{}` stands there twice, expected each once", contestant.as_str());
                return Err(Error::value(format!("{key}.contestants[{at}]"), message));
            }
        }
        if self.rerank_top == 0 {
            return Err(Error::value(format!("{key}.rerank_top"), "got 0, expected at least 1"));
        }
        if self.contestants.is_empty() {
            let message = "is empty, expected at least one of bm25, untrained, trained, bm25+trained";
            return Err(Error::value(format!("{key}.contestants"), message)
                .with_hint(format!("{key}.contestants=[bm25, untrained, trained]")));
        }
        for (at, entry) in self.benchmarks.iter().enumerate() {
            let key = format!("{key}.benchmarks[{at}]");
            entry.benchmark.validate(&format!("{key}.benchmark"))?;
            let is_pairs = matches!(entry.benchmark, BenchmarkConfig::Pairs(_));
            let is_search = matches!(entry.benchmark, BenchmarkConfig::Search(_));
            if is_search && self.contestants.contains(&ContestantName::Fused) {
                let message = "`bm25+trained` is not for `search`, whose ranking has words already";
                return Err(Error::value(format!("{key}.benchmark"), message)
                    .with_hint("bench.contestants=[bm25, untrained, trained]"));
            }
            if is_pairs == entry.dataset.is_some() && !is_search {
                let message = match is_pairs {
                    true => "`pairs` measures on the run's own test pairs, or on `sources`, and takes no folder",
                    false => "is missing, expected the folder with the benchmark's data",
                };
                return Err(Error::value(format!("{key}.dataset"), message));
            }
            if !is_pairs && !entry.sources.is_empty() {
                return Err(Error::value(format!("{key}.sources"), "only `pairs` measures on sources"));
            }
            for (at, source) in entry.sources.iter().enumerate() {
                source.validate(&format!("{key}.sources[{at}]"))?;
            }
        }
        Ok(())
    }
}
