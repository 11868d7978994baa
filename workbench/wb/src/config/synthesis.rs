//! What `wb synth` and `wb ab` read of the YAML: the sections that pairs and annotations are made by.
//!
//! The sections of training are typed too, so that one file serves all commands and a misspelled key is found by each.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, Seed};
use wb_encoder::{DeviceConfig, journals::JournalFormat, train::TrainConfig};
use wb_llm::LlmConfig;
use wb_retrieval::mining::MiningConfig;
use wb_synth::{
    SynthConfig,
    annotate::{AnnotateConfig, EmbedText},
    rules::RulesConfig,
    snippets::SnippetsConfig,
};

use super::{
    AbConfig, BenchConfig, DataConfig, EncoderConfig, GeneratorChoice, RagConfig, check_name, default_seed, placed,
};

/// One YAML, as `wb synth` and `wb ab` read it.
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
    /// The language model; needed where there is `synth:` or `annotate:`.
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
    /// What a language model says of each snippet.
    #[serde(default)]
    pub annotate: Option<AnnotateConfig>,
    /// Two ways to embed the snippets, for `wb ab`.
    #[serde(default)]
    pub ab: Option<AbConfig>,
    #[serde(default)]
    rag: Option<RagConfig>,
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
        let sections = Sections {
            llm: self.llm.as_ref(),
            snippets: Some(&self.snippets),
            synth: self.synth.as_ref(),
            rules: self.rules.as_ref(),
            annotate: self.annotate.as_ref(),
            ab: self.ab.as_ref(),
            rag: self.rag.as_ref(),
        };
        sections.validate()
    }

    /// Refuses a file that says nothing of what pairs are made by.
    pub fn check_makes_something(&self) -> Result<()> {
        if self.synth.is_none() && self.rules.is_none() && self.annotate.is_none() {
            let message = "is missing, and so are `rules` and `annotate`, expected one of them";
            return Err(Error::value("synth", message).with_hint(
                "rules: {} makes pairs without a language model; synth: {} with llm: { model: FILE.gguf } asks one",
            ));
        }
        Ok(())
    }
}

/// The sections of a synthesis, wherever they are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sections<'a> {
    pub llm: Option<&'a LlmConfig>,
    pub snippets: Option<&'a SnippetsConfig>,
    pub synth: Option<&'a SynthConfig>,
    pub rules: Option<&'a RulesConfig>,
    pub annotate: Option<&'a AnnotateConfig>,
    pub ab: Option<&'a AbConfig>,
    pub rag: Option<&'a RagConfig>,
}

impl Sections<'_> {
    pub(super) fn validate(self) -> Result<()> {
        if let Some(llm) = self.llm {
            llm.validate("llm")?;
        }
        if let Some(snippets) = self.snippets {
            snippets.validate("snippets")?;
        }
        if let Some(rules) = self.rules {
            rules.validate("rules")?;
        }
        if let Some(synth) = self.synth {
            synth.validate("synth")?;
        }
        if let Some(annotate) = self.annotate {
            annotate.validate("annotate")?;
        }
        if let Some(ab) = self.ab {
            ab.validate("ab")?;
            if self.annotate.is_none() && ab.arms.iter().any(|arm| *arm != EmbedText::Code) {
                return Err(Error::value("annotate", "is missing, and an arm of `ab` embeds annotations")
                    .with_hint("annotate: {}"));
            }
        }
        check_rag(self.rag, self.llm)?;
        let asking = [("synth", self.synth.is_some()), ("annotate", self.annotate.is_some())];
        if let (None, Some((name, _))) = (self.llm, asking.iter().find(|(_, asks)| *asks)) {
            return Err(Error::value("llm", format!("is missing, and `{name}` asks a language model"))
                .with_hint("llm: { model: path/to/model.gguf }, or llm: { base_url: http://127.0.0.1:8080 }"));
        }
        Ok(())
    }
}

/// What is wrong with `rag:`, and whether it has the language model that it asks.
pub(super) fn check_rag(rag: Option<&RagConfig>, llm: Option<&LlmConfig>) -> Result<()> {
    let Some(rag) = rag else { return Ok(()) };
    if let Some(llm) = llm {
        llm.validate("llm")?;
    }
    rag.validate("rag")?;
    if llm.is_none() && matches!(rag.generator, GeneratorChoice::Model(_)) {
        return Err(Error::value("llm", "is missing, and `rag.generator` asks a language model")
            .with_hint("llm: { model: path/to/model.gguf }, or llm: { base_url: http://127.0.0.1:8080 }"));
    }
    Ok(())
}
