//! What `wb bench spider --generate` reads of the YAML.
//!
//! The sections of training and synthesis are typed too, so that one file serves all commands and a misspelled key is
//! found by each.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use wb_core::{Result, Seed};
use wb_encoder::{DeviceConfig, journals::JournalFormat, train::TrainConfig};
use wb_llm::LlmConfig;
use wb_retrieval::mining::MiningConfig;
use wb_synth::{SynthConfig, annotate::AnnotateConfig, rules::RulesConfig, snippets::SnippetsConfig};

use super::{AbConfig, BenchConfig, DataConfig, EncoderConfig, RagConfig, check_name, default_seed, placed, synthesis};

/// One YAML, as `wb bench spider --generate` reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextToSql {
    /// Names the folder of what comes out.
    pub name: String,
    /// Decides everything that is drawn.
    #[serde(default = "default_seed")]
    pub seed: Seed,
    /// Where encoders compute.
    #[serde(default)]
    pub device: DeviceConfig,
    /// The language model, for `rag.generator: { model: {} }`.
    #[serde(default)]
    pub llm: Option<LlmConfig>,
    /// The experiment.
    pub rag: RagConfig,
    #[serde(default)]
    snippets: Option<SnippetsConfig>,
    #[serde(default)]
    synth: Option<SynthConfig>,
    #[serde(default)]
    rules: Option<RulesConfig>,
    #[serde(default)]
    annotate: Option<AnnotateConfig>,
    #[serde(default)]
    review: Option<PathBuf>,
    #[serde(default)]
    ab: Option<AbConfig>,
    #[serde(default)]
    data: Option<DataConfig>,
    #[serde(default)]
    negatives: Option<MiningConfig>,
    #[serde(default)]
    encoder: Option<EncoderConfig>,
    #[serde(default)]
    train: TrainConfig,
    #[serde(default)]
    journals: Vec<JournalFormat>,
    #[serde(default)]
    bench: BenchConfig,
}

impl TextToSql {
    /// Reads, overrides and checks a YAML; errors have path, line and column as far as they can be known.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self> {
        let file: Self = wb_core::config::load(path, overrides)?;
        file.validate().map_err(|error| placed(error, path, overrides))?;
        Ok(file)
    }

    /// Whether a file is for `wb bench spider --generate` alone, and trains nothing.
    pub fn is_alone(path: &Path) -> bool {
        let sections = wb_core::config::load::<BTreeMap<String, serde_json::Value>>(path, &[]);
        sections.is_ok_and(|sections| {
            sections.contains_key("rag") && sections.get("data").is_none_or(serde_json::Value::is_null)
        })
    }

    fn validate(&self) -> Result<()> {
        check_name(&self.name)?;
        synthesis::check_rag(Some(&self.rag), self.llm.as_ref())
    }

    /// What there is without a file.
    pub fn without_file(rag: RagConfig, device: DeviceConfig) -> Self {
        Self {
            name: "spider".to_owned(),
            seed: default_seed(),
            device,
            llm: None,
            rag,
            snippets: None,
            synth: None,
            rules: None,
            annotate: None,
            review: None,
            ab: None,
            data: None,
            negatives: None,
            encoder: None,
            train: TrainConfig::default(),
            journals: Vec::new(),
            bench: BenchConfig::default(),
        }
    }
}
