//! What `wb synth` reads of the YAML: the sections that pairs are made by.
//!
//! The sections of training are typed too, so that one file serves all commands and a misspelled key is found by each.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, Seed};
use wb_encoder::{DeviceConfig, journals::JournalFormat, train::TrainConfig};
use wb_llm::LlmConfig;
use wb_retrieval::mining::MiningConfig;
use wb_synth::{SynthConfig, rules::RulesConfig, snippets::SnippetsConfig};

use super::{BenchConfig, DataConfig, EncoderConfig, check_name, default_seed, placed};

/// One YAML, as `wb synth` reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synthesis {
    /// Names the folder of the pairs.
    pub name: String,
    /// Decides everything that is drawn.
    #[serde(default = "default_seed")]
    pub seed: Seed,
    /// For the commands that train.
    #[serde(default)]
    pub device: DeviceConfig,
    /// The language model; needed where there is `synth:`.
    #[serde(default)]
    pub llm: Option<LlmConfig>,
    /// What pairs are made of.
    pub snippets: SnippetsConfig,
    /// Pairs that a language model writes.
    #[serde(default)]
    pub synth: Option<SynthConfig>,
    /// Pairs that rules make, without a language model.
    #[serde(default)]
    pub rules: Option<RulesConfig>,
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

impl Synthesis {
    /// Reads, overrides and checks a YAML; errors have path, line and column as far as they can be known.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self> {
        let file: Self = wb_core::config::load(path, overrides)?;
        file.validate().map_err(|error| placed(error, path, overrides))?;
        Ok(file)
    }

    fn validate(&self) -> Result<()> {
        check_name(&self.name)?;
        check_sections(self.llm.as_ref(), Some(&self.snippets), self.synth.as_ref(), self.rules.as_ref())?;
        if self.synth.is_none() && self.rules.is_none() {
            return Err(Error::value("synth", "is missing, and so is `rules`, expected one of them").with_hint(
                "rules: {} makes pairs without a language model; synth: {} with llm: { model: FILE.gguf } asks one",
            ));
        }
        Ok(())
    }
}

/// The sections of a synthesis, wherever they are read.
pub(super) fn check_sections(
    llm: Option<&LlmConfig>,
    snippets: Option<&SnippetsConfig>,
    synth: Option<&SynthConfig>,
    rules: Option<&RulesConfig>,
) -> Result<()> {
    if let Some(llm) = llm {
        llm.validate("llm")?;
    }
    if let Some(snippets) = snippets {
        snippets.validate("snippets")?;
    }
    if let Some(rules) = rules {
        rules.validate("rules")?;
    }
    if let Some(synth) = synth {
        synth.validate("synth")?;
        if llm.is_none() {
            return Err(Error::value("llm", "is missing, and `synth` asks a language model")
                .with_hint("llm: { model: path/to/model.gguf }, or llm: { base_url: http://127.0.0.1:8080 }"));
        }
    }
    Ok(())
}
