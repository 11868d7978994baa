//! The whole YAML, section by section.

mod ab;
mod bench;
mod data;
mod encoder;
mod head;
mod rag;
mod synthesis;
mod text_to_sql;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, Seed};
use wb_encoder::{DeviceConfig, journals::JournalFormat, train::TrainConfig};
use wb_llm::LlmConfig;
use wb_retrieval::mining::{MiningConfig, MiningRetriever};
use wb_synth::{SynthConfig, annotate::AnnotateConfig, rules::RulesConfig, snippets::SnippetsConfig};

pub use ab::AbConfig;
pub use bench::{BenchConfig, BenchEntry, ContestantName, DocumentsConfig};
pub use data::{DataConfig, SourceChoice};
pub use encoder::{EncoderConfig, ModelChoice};
pub use head::Head;
pub use rag::{EncoderArm, GeneratorChoice, ModelConfig, NearestConfig, RagConfig, RetrieverChoice, WITHOUT, WordsArm};
pub use synthesis::Synthesis;
pub use text_to_sql::TextToSql;

/// One YAML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Part of the run's id: letters, digits, `-` and `_`.
    pub name: String,
    /// Decides everything that is drawn.
    #[serde(default = "default_seed")]
    pub seed: Seed,
    /// Where to compute: `auto`, `cpu`, `cuda`, `cuda:N`, `metal`, `vulkan`, `wgpu`.
    #[serde(default)]
    pub device: DeviceConfig,
    /// A language model, for `wb synth`.
    #[serde(default)]
    pub llm: Option<LlmConfig>,
    /// What `wb synth` makes pairs of.
    #[serde(default)]
    pub snippets: Option<SnippetsConfig>,
    /// Pairs that a language model writes, by `wb synth`.
    #[serde(default)]
    pub synth: Option<SynthConfig>,
    /// Pairs that rules make, by `wb synth`.
    #[serde(default)]
    pub rules: Option<RulesConfig>,
    /// What a language model says of each snippet, by `wb synth`.
    #[serde(default)]
    pub annotate: Option<AnnotateConfig>,
    /// A file that the review page exported, for `wb synth`: pairs that a person rejected are left out.
    #[serde(default)]
    pub review: Option<PathBuf>,
    /// Two ways to embed the snippets, for `wb ab`.
    #[serde(default)]
    pub ab: Option<AbConfig>,
    /// Text-to-SQL with retrieved examples, for `wb bench spider --generate`.
    #[serde(default)]
    pub rag: Option<RagConfig>,
    /// Where pairs come from, and what is done to them.
    pub data: DataConfig,
    /// Hard negatives mined for the training pairs; null for none.
    #[serde(default)]
    pub negatives: Option<MiningConfig>,
    /// What is trained.
    pub encoder: EncoderConfig,
    /// How it is trained.
    #[serde(default)]
    pub train: TrainConfig,
    /// Tools for which the journals of training are written too: `tensorboard`, `wandb`.
    #[serde(default)]
    pub journals: Vec<JournalFormat>,
    /// What is measured.
    #[serde(default)]
    pub bench: BenchConfig,
}

fn default_seed() -> Seed {
    Seed(17)
}

impl Experiment {
    /// Reads, overrides and checks a YAML; errors have path, line and column as far as they can be known.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self> {
        let experiment: Self = wb_core::config::load(path, overrides)?;
        experiment.validate().map_err(|error| placed(error, path, overrides))?;
        Ok(experiment)
    }

    /// Types and checks a text before it is written; `path` is where it will stand, for messages.
    pub fn of_text(text: &str, path: &Path) -> Result<Self> {
        let experiment: Self = wb_core::config::from_text(text, path)?;
        experiment.validate()?;
        Ok(experiment)
    }

    fn validate(&self) -> Result<()> {
        check_name(&self.name)?;
        synthesis::Sections {
            llm: self.llm.as_ref(),
            snippets: self.snippets.as_ref(),
            synth: self.synth.as_ref(),
            rules: self.rules.as_ref(),
            annotate: self.annotate.as_ref(),
            ab: self.ab.as_ref(),
            rag: self.rag.as_ref(),
        }
        .validate()?;
        self.data.validate("data")?;
        if let Some(negatives) = &self.negatives {
            negatives.validate("negatives")?;
            if self.data.streaming {
                let message = "pairs are mined in memory, and `data.streaming` keeps them on the disk";
                return Err(Error::value("negatives", message).with_hint(
                    "mine first: wb mine-negatives CONFIG data.streaming=false --out FILE, and name FILE as the source",
                ));
            }
            let by_own = negatives.retriever == MiningRetriever::Encoder
                && negatives.encoder.is_none()
                && negatives.vectors.is_none();
            if by_own && !self.has_pretrained() {
                return Err(self.no_encoder_to_mine_with());
            }
        }
        self.encoder.validate("encoder")?;
        self.train.validate("train")?;
        self.validate_similarity()?;
        self.validate_refresh()?;
        if let Some(names) = self.data.dataset_names() {
            self.train.check_datasets(&names)?;
        }
        self.bench.validate("bench")
    }
}

impl Experiment {
    /// What this file alone tells of a similarity that does not suit the encoder; a pretrained one may bring its own
    /// late interaction.
    fn validate_similarity(&self) -> Result<()> {
        let by_tokens = self.train.similarity.of_tokens().is_some();
        match &self.encoder.late_interaction {
            Some(_) => self.check_similarity(true),
            None if by_tokens && !self.has_pretrained() => self.check_similarity(false),
            None => Ok(()),
        }
    }

    /// Refuses a similarity that does not compare what the encoder gives.
    pub fn check_similarity(&self, one_vector_a_token: bool) -> Result<()> {
        let (message, hint) = match (one_vector_a_token, self.train.similarity.of_tokens().is_some()) {
            (true, false) => (
                "compares one vector a text, and the encoder gives one a token",
                "train.similarity=maxsim, or train.similarity={xtr: {}}",
            ),
            (false, true) => (
                "compares texts token by token, and the encoder gives one vector a text",
                "encoder.late_interaction={}, or train.similarity=cosine",
            ),
            _ => return Ok(()),
        };
        Err(Error::value("train.similarity", message).with_hint(hint))
    }

    /// Hard negatives can be mined again only of pairs in memory, by the encoder's own vectors.
    fn validate_refresh(&self) -> Result<()> {
        if self.train.refresh.is_none() {
            return Ok(());
        }
        let refuse = |message: &str| Err(Error::value("train.refresh", message));
        if self.data.streaming {
            return refuse("pairs are mined in memory, and `data.streaming` keeps them on the disk");
        }
        match &self.negatives {
            Some(config) if config.vectors.is_some() => {
                refuse("`negatives.vectors` are those of other weights, and cannot be mined with again")
            }
            Some(config) if config.include_positives => {
                refuse("`negatives.include_positives` makes rankings with positives in them, which are no negatives")
            }
            _ => Ok(()),
        }
    }

    /// The most hard negatives that mining gives a pair; none where nothing is mined.
    pub fn mined_per_pair(&self) -> Option<usize> {
        let is_mined = self.negatives.is_some() || self.train.refresh.is_some();
        is_mined.then(|| self.negatives.clone().unwrap_or_default().rules().per_pair)
    }

    /// Whether it begins with an encoder that knows something.
    pub fn has_pretrained(&self) -> bool {
        matches!(self.encoder.model, ModelChoice::Pretrained(_))
    }

    /// What is said where negatives are to be mined with an encoder that is yet to be trained.
    pub fn no_encoder_to_mine_with(&self) -> Error {
        let message = "is missing: the encoder of this file begins from scratch and has nothing to mine with";
        Error::value("negatives.encoder", message)
            .with_hint("name a folder or a run (negatives.encoder=latest), or mine by words: negatives.retriever=bm25")
    }
}

/// Refuses a name that cannot be part of a folder's.
pub fn check_name(name: &str) -> Result<()> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(fine) {
        let message = format!("`{name}`, expected letters, digits, `-` and `_`: it becomes part of a folder's name");
        return Err(Error::value("name", message));
    }
    Ok(())
}

/// An impossible value stands in an override, or at a place in the file.
fn placed(error: Error, path: &Path, overrides: &[String]) -> Error {
    let Error::Value { key, message, hint } = error else { return error };
    let under =
        |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    let sets = |given: &&String| given.split_once('=').is_some_and(|(set, _)| under(&key, set) || under(set, &key));
    match overrides.iter().rfind(sets) {
        Some(given) => Error::Override { given: given.clone(), message: format!("{key}: {message}"), hint },
        None => wb_core::config::with_position(Error::Value { key, message, hint }, path),
    }
}
