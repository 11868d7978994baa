//! The `rag:` section: text-to-SQL with and without retrieved examples.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{EncoderRef, Error, Result};
use wb_llm::SamplingConfig;
use wb_retrieval::Bm25Config;
use wb_sql::Compat;

use crate::{
    examples::{TextFormat, TrainingFiles},
    predict::PredictConfig,
};

/// An experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagConfig {
    /// A folder in Spider's layout: `tables.json`, `dev.json`, `database/ID/*.sqlite`, and the training split.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub dataset: PathBuf,
    /// Questions, in the folder `dataset`: a JSON list of `db_id`, `question` and `query`.
    #[serde(default = "dev", deserialize_with = "wb_core::paths::typed")]
    pub questions: PathBuf,
    /// Number of questions, drawn by the seed; `0` for all.
    #[serde(default)]
    pub sample: usize,
    /// Files of examples, in the folder `dataset`: `questions` (`[train_spider.json, train_others.json]`), lists of
    /// `db_id`, `question` and `query`, or rows of synthetic_text_to_sql (JSON or Parquet), each over the database of
    /// its own statements; `gold` (`null`), lines of SQL, a tab and the `db_id`, whose queries become examples without
    /// a question where the lists do not have them.
    #[serde(default)]
    pub training: TrainingFiles,
    /// Parts of an example that are searched: `context` (`true`), its schema; `question` (`false`); `sql` (`true`), its
    /// query; `form` (`false`), its query with `_` for names and values. A part that an example does not have is left
    /// out; where nothing is left, its query stands.
    #[serde(default)]
    pub documents: TextFormat,
    /// An arm for each, beside the one without retrieval.
    #[serde(default = "by_words")]
    pub retrievers: Vec<RetrieverChoice>,
    /// Number of examples that a question gets.
    #[serde(default = "three")]
    pub top_k: usize,
    /// Allows examples of the question's own database, which real users have and benchmarks must not.
    #[serde(default)]
    pub own_database: bool,
    /// Generator of a query out of question and examples: `nearest`, rules that fit the nearest examples' queries to
    /// the question's database; or `model`, the language model of `llm`.
    #[serde(default)]
    pub generator: GeneratorChoice,
    /// Rules of the verdicts: `official` or `strict`.
    #[serde(default)]
    pub compat: Compat,
}

fn dev() -> PathBuf {
    "dev.json".into()
}

fn three() -> usize {
    3
}

fn by_words() -> Vec<RetrieverChoice> {
    vec![RetrieverChoice::Bm25(WordsArm::default())]
}

/// A way to find examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetrieverChoice {
    /// Any examples with a question, drawn by the seed: what an example is worth at all.
    Random {},
    /// Words that question and example share.
    Bm25(WordsArm),
    /// Vectors, compared by exact inner product of length 1; or one vector a token, by MaxSim.
    Encoder(EncoderArm),
    /// Choice by the form of the gold query, which no retriever knows: a ceiling, and no result.
    Oracle {},
}

/// Retrieval by words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WordsArm {
    /// Parts of an example that are searched, where they are not those of `rag.documents`.
    pub documents: Option<TextFormat>,
    /// Rules of BM25, with the keys of `bench.bm25`.
    pub bm25: Bm25Config,
}

/// Retrieval by an encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EncoderArm {
    /// A folder, a run, `latest`, or `owner/name` of the hub.
    pub model: EncoderRef,
    /// Name of the arm; the model's last part unless it is given.
    #[serde(default)]
    pub name: Option<String>,
    /// Parts of an example that are embedded, where they are not those of `rag.documents`.
    #[serde(default)]
    pub documents: Option<TextFormat>,
    /// Longest text in tokens, instead of the encoder's own.
    #[serde(default)]
    pub max_tokens: Option<usize>,
    /// A folder with the examples' vectors, instead of embedding them: `sql_rag_faiss_index.bin` (FAISS's `IndexFlatIP`)
    /// and `sql_rag_corpus_map.json`, or else NumPy's `sql_rag_corpus_map.npy`: an array of texts, of tuples or lists (the
    /// longest text is taken), or of dictionaries (`text`, `document`, `content`, `page_content` or `sql`). Its texts are
    /// the examples' own, or stand in the examples' order and have their queries in them.
    #[serde(default, deserialize_with = "wb_core::paths::typed")]
    pub index: Option<PathBuf>,
}

/// Generator of the query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorChoice {
    /// Rules that fit the nearest example's query to the question's database: no language model.
    Nearest(NearestConfig),
    /// The language model of `llm`.
    Model(ModelConfig),
}

impl Default for GeneratorChoice {
    fn default() -> Self {
        Self::Nearest(NearestConfig::default())
    }
}

/// The rules' settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NearestConfig {
    /// Weight of an example's similarity, divided by that of the first; how well its query fits the question has weight
    /// 1.
    pub retrieval_weight: f64,
    /// Runs candidates: one that fails is out, one without rows loses against others.
    pub execution_guided: bool,
}

impl Default for NearestConfig {
    fn default() -> Self {
        let PredictConfig { retrieval_weight, execution_guided, .. } = PredictConfig::default();
        Self { retrieval_weight, execution_guided }
    }
}

impl NearestConfig {
    /// The predictor's settings, with so many examples a question.
    pub fn with_top_k(self, top_k: usize) -> PredictConfig {
        PredictConfig { top_k, retrieval_weight: self.retrieval_weight, execution_guided: self.execution_guided }
    }
}

/// Rules by which a language model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// A template of your own in place of the built-in one, with `{{ question }}`, `{{ context }}` and `{{ examples
    /// }}`, or `{% for example in example_list %}` with `example.context`, `example.question` and `example.sql`. The
    /// same file serves both arms: without retrieval `examples` is empty.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub prompt: Option<PathBuf>,
    /// Evenness with which tokens are drawn; `0` takes the likeliest.
    pub temperature: f32,
    /// Draws among the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// Tokens of an answer at most.
    pub max_tokens: u32,
    /// Requires the answer to be `{"sql": "..."}`, which the engine enforces; else the query is looked for in the text.
    pub json: bool,
    /// Queries a question; of several the one whose result most of them have is taken (self-consistency).
    pub samples: u32,
    /// Number of times that a query that does not run is asked for again, with what the database said.
    pub repair: u32,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self { prompt: None, temperature: 0.0, top_p: 1.0, max_tokens: 512, json: false, samples: 1, repair: 0 }
    }
}

impl ModelConfig {
    /// Settings as the engine takes them.
    pub fn sampling(&self) -> SamplingConfig {
        SamplingConfig { temperature: self.temperature, top_p: self.top_p, max_tokens: self.max_tokens }
    }

    fn validate(&self, key: &str) -> Result<()> {
        let wrong = |name: &str, message: String| Err(Error::value(format!("{key}.{name}"), message));
        self.sampling().validate(key, 32)?;
        if !(1..=64).contains(&self.samples) {
            return wrong("samples", format!("got {}, expected 1 to 64", self.samples));
        }
        if self.repair > 8 {
            return wrong("repair", format!("got {}, expected at most 8", self.repair));
        }
        if self.samples > 1 && self.temperature == 0.0 {
            let message = "more than 1 at temperature 0, which draws the same query every time".to_owned();
            return Err(Error::value(format!("{key}.samples"), message)
                .with_hint("rag.generator.model.temperature=0.7, or samples=1"));
        }
        Ok(())
    }
}

/// The arm without retrieval.
pub const WITHOUT: &str = "without";

impl RetrieverChoice {
    /// Name of its arm.
    pub fn name(&self) -> String {
        match self {
            Self::Random {} => "random".to_owned(),
            Self::Bm25(_) => "bm25".to_owned(),
            Self::Oracle {} => "oracle".to_owned(),
            Self::Encoder(arm) => arm.name.clone().unwrap_or_else(|| {
                let last = Path::new(&arm.model.id).file_name().map(|name| name.to_string_lossy().into_owned());
                last.unwrap_or_else(|| arm.model.id.clone())
            }),
        }
    }

    /// Parts of an example that it searches, where these are not `rag.documents`.
    pub fn documents(&self) -> Option<TextFormat> {
        match self {
            Self::Random {} | Self::Oracle {} => None,
            Self::Bm25(arm) => arm.documents,
            Self::Encoder(arm) => arm.documents,
        }
    }
}

impl RagConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        self.training.validate(&format!("{key}.training"))?;
        self.documents.validate(&format!("{key}.documents"))?;
        if self.top_k == 0 {
            return Err(Error::value(format!("{key}.top_k"), "got 0, expected 1 or more"));
        }
        if self.retrievers.is_empty() {
            return Err(Error::value(format!("{key}.retrievers"), "is empty, expected at least one")
                .with_hint("rag.retrievers=[{bm25: {}}]"));
        }
        let mut names = vec![WITHOUT.to_owned()];
        for (at, retriever) in self.retrievers.iter().enumerate() {
            let key = format!("{key}.retrievers[{at}]");
            if let Some(documents) = retriever.documents() {
                documents.validate(&format!("{key}.documents"))?;
            }
            if let RetrieverChoice::Encoder(arm) = retriever {
                arm.model.validate(&format!("{key}.encoder.model"))?;
                if arm.max_tokens == Some(0) {
                    return Err(Error::value(format!("{key}.encoder.max_tokens"), "got 0, expected 1 or more"));
                }
            }
            let name = retriever.name();
            let is_plain = |c: char| c.is_alphanumeric() || "-_.+@".contains(c);
            if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
                let message = format!("an arm called `{name}`, expected letters, digits and -_.+@: files are named so");
                return Err(Error::value(key, message).with_hint("give it a `name`"));
            }
            if names.contains(&name) {
                let message = format!("a second arm called `{name}`");
                return Err(Error::value(key, message).with_hint("give it a `name` of its own"));
            }
            names.push(name);
        }
        match &self.generator {
            GeneratorChoice::Nearest(nearest) => {
                nearest.with_top_k(self.top_k).validate(&format!("{key}.generator.nearest"))
            }
            GeneratorChoice::Model(model) => model.validate(&format!("{key}.generator.model")),
        }
    }
}
