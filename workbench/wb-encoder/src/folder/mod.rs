//! A folder with an encoder in it: a sentence-transformers or Hugging Face model, or what a run of ours left.

pub(crate) mod cross_encoder;
mod files;
pub(crate) mod multi_vector;
pub(crate) mod own;
pub(crate) mod peft;
pub(crate) mod peft_config;
pub(crate) mod sentence_transformers;
mod vocabulary;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use wb_core::{Seed, Side};

use crate::{
    cross_encoder::PairReading,
    dense::DenseLayer,
    error::{Error, Result},
    late_interaction::{self, LateInteraction, LateInteractionConfig},
    lora::{self, LoraConfig},
    models::{Architecture, Model},
    pooling::Pooling,
    tokenizer::Tokenizer,
};

/// Text put before every text of a side, as the model was trained with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Prompts {
    /// Before what is searched for.
    pub query: String,
    /// Before what is searched in.
    pub document: String,
}

/// A number of tokens for each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaxTokens {
    /// Tokens of what is searched for, special tokens included.
    pub query: usize,
    /// Tokens of what is searched in, special tokens included.
    pub document: usize,
}

impl Prompts {
    /// The prompt of a side.
    pub fn of(&self, side: Side) -> &str {
        match side {
            Side::Query => &self.query,
            Side::Document => &self.document,
        }
    }
}

impl MaxTokens {
    /// One number for both sides.
    pub fn both(tokens: usize) -> Self {
        Self { query: tokens, document: tokens }
    }

    /// The number of a side.
    pub fn of(self, side: Side) -> usize {
        match side {
            Side::Query => self.query,
            Side::Document => self.document,
        }
    }
}

/// An encoder as it lies in a folder, in host memory.
#[derive(Debug, Clone)]
pub struct Folder {
    /// A short name for tables: the folder's own.
    pub name: String,
    /// Architecture, weights, pooling.
    pub model: Model,
    /// Adapters among the weights, if there are any.
    pub lora: Option<LoraConfig>,
    /// Layers after the pooling; they are computed and not trained.
    pub dense: Vec<DenseLayer>,
    /// One vector a token, and no pooling, where it is so; its matrix is among the weights.
    pub late_interaction: Option<LateInteraction>,
    /// Two texts read as one and scored, in place of a vector for each, where it is so; the head is among the weights.
    pub pair_reading: Option<PairReading>,
    /// Text to token ids; of a cross-encoder without special tokens.
    pub tokenizer: Tokenizer,
    /// True where embeddings get length 1.
    pub normalize: bool,
    /// Longer texts are cut.
    pub max_tokens: MaxTokens,
    /// Put before every text.
    pub prompts: Prompts,
    /// Notes for people: choices that the folder left open and how they were decided, and files that were not used.
    pub notes: Vec<String>,
}

impl Folder {
    /// Reads an encoder: a run's weights folder if there is an `encoder.json`, else a model of the hub,
    /// or adapters of PEFT whose base model is a folder too.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            let message = if path.exists() { "is not a folder" } else { "does not exist, expected a folder" };
            return Err(model_error(
                path,
                message,
                "an encoder is a folder with `model.safetensors` and `tokenizer.json`",
            ));
        }
        let has = |file: &str| path.join(file).is_file();
        let folder = if has(own::FILE) {
            own::read(path)?
        } else if cross_encoder::is_one(path) {
            cross_encoder::read(path, None)?
        } else if has(peft_config::FILE) && !has("modules.json") && !has("config.json") {
            let mut folder = Self::read(&peft::base_of(path)?)?;
            folder.add_peft(path)?;
            folder.name = name(path);
            folder
        } else {
            sentence_transformers::read(path, None)?
        };
        folder.tokenizer.check_fits(folder.model.architecture.vocab_size())?;
        Ok(folder)
    }

    /// Reads a cross-encoder: a run's, or one as sentence-transformers or transformers write it.
    pub fn read_cross_encoder(path: &Path) -> Result<Self> {
        if !path.join(own::FILE).is_file() {
            return cross_encoder::read(path, None);
        }
        let folder = own::read(path)?;
        folder.expect_cross_encoder()?;
        Ok(folder)
    }

    /// A cross-encoder's way to read its pairs; an encoder is refused.
    pub fn expect_cross_encoder(&self) -> Result<&PairReading> {
        let message = "is an encoder, which gives each text a vector; expected a cross-encoder";
        let hint = "a cross-encoder is trained with `encoder.cross_encoder`, or is a folder of sentence-transformers'";
        self.pair_reading.as_ref().ok_or_else(|| Error::data(self.name.as_str(), message).with_hint(hint))
    }

    /// Refuses a cross-encoder where texts are to have vectors.
    pub fn expect_encoder(&self, key: &str) -> Result<()> {
        if self.pair_reading.is_none() {
            return Ok(());
        }
        let message = format!("{} is a cross-encoder, which scores two texts and gives no vectors", self.name);
        Err(Error::value(key, message).with_hint("`wb bench NAME --rerank` measures it, `rescore` mines with it"))
    }

    /// An encoder of the sizes, tokenizer and settings of a folder that need not have its weights, with fresh ones: it
    /// takes the memory and the time of the real one. Small matrices after the network are the folder's own.
    pub fn sized_like(path: &Path, seed: Seed) -> Result<Self> {
        let folder = match cross_encoder::is_one(path) {
            true => cross_encoder::read(path, Some(seed))?,
            false => sentence_transformers::read(path, Some(seed))?,
        };
        folder.tokenizer.check_fits(folder.model.architecture.vocab_size())?;
        Ok(folder)
    }

    /// An encoder with fresh weights, all of them to be trained.
    pub fn fresh(
        name: &str,
        architecture: Architecture,
        tokenizer: Tokenizer,
        max_tokens: MaxTokens,
        seed: Seed,
    ) -> Result<Self> {
        architecture.validate("encoder")?;
        tokenizer.check_fits(architecture.vocab_size())?;
        let parameters = architecture.fresh(seed);
        let folder = Self {
            name: name.to_owned(),
            model: Model { architecture, parameters, pooling: Pooling::Mean, adapter: None },
            lora: None,
            dense: Vec::new(),
            late_interaction: None,
            pair_reading: None,
            tokenizer,
            normalize: true,
            max_tokens,
            prompts: Prompts::default(),
            notes: Vec::new(),
        };
        folder.check_lengths("encoder")?;
        Ok(folder)
    }

    /// Length of an embedding.
    pub fn dim(&self) -> usize {
        if let Some(late) = &self.late_interaction {
            return late.dim();
        }
        self.dense.last().map_or_else(|| self.model.architecture.dim(), DenseLayer::dim)
    }

    /// Adds adapters and freezes everything else.
    pub fn attach(&mut self, config: &LoraConfig, seed: Seed) -> Result<()> {
        if self.lora.is_some() {
            return Err(Error::value("lora", format!("{} has adapters already", self.name))
                .with_hint("merge them first, or go on training them without `lora`"));
        }
        let adapter = lora::attach(&mut self.model.parameters, &self.model.architecture, config, seed, &self.name)?;
        self.model.adapter = Some(adapter);
        self.lora = Some(config.clone());
        Ok(())
    }

    /// Makes it an encoder of one vector a token. A matrix that is there already stays; a fresh one trains whole, also
    /// beside adapters.
    pub fn add_late_interaction(&mut self, config: &LateInteractionConfig, seed: Seed, key: &str) -> Result<()> {
        if !self.dense.is_empty() {
            let message =
                format!("{} has dense layers after its pooling, which late interaction does without", self.name);
            return Err(Error::value(key, message).with_hint("begin with a model without such layers"));
        }
        let late = LateInteraction::new(config, &self.tokenizer, key)?;
        match self.model.parameters.get(late_interaction::WEIGHT) {
            Some(weight) if weight.shape[0] != late.dim() => {
                let message =
                    format!("is {}, and {} has vectors of {} already", late.dim(), self.name, weight.shape[0]);
                return Err(Error::value(format!("{key}.dim"), message));
            }
            Some(_) => {}
            None => {
                self.model.parameters.insert(late.fresh(self.model.architecture.dim(), seed));
            }
        }
        self.late_interaction = Some(late);
        self.check_lengths("encoder")
    }

    /// Adds adapters into the weights that they stand beside.
    pub fn merge(&mut self) -> Result<()> {
        self.lora = None;
        if let Some(adapter) = self.model.adapter.take() {
            self.model.parameters = lora::merge(&self.model.parameters, &adapter)?;
        }
        Ok(())
    }

    /// Refuses lengths that the model cannot take.
    pub fn check_lengths(&self, key: &str) -> Result<()> {
        let marker = self.late_interaction.as_ref().map_or(0, LateInteraction::added_tokens);
        let of_pairs = self.pair_reading.as_ref().map_or(0, PairReading::special_tokens);
        let special = self.tokenizer.special_tokens() + marker + of_pairs;
        for (side, tokens) in [("query", self.max_tokens.query), ("document", self.max_tokens.document)] {
            let key = format!("{key}.max_tokens.{side}");
            if tokens <= special {
                let message = format!("got {tokens}, expected more than the {special} special tokens");
                return Err(Error::value(key, message));
            }
            if let Some(most) = self.model.architecture.max_tokens().filter(|most| tokens > *most) {
                let message = format!("got {tokens}, expected at most {most}: {} has no more positions", self.name);
                return Err(Error::value(key, message));
            }
        }
        Ok(())
    }
}

/// Reads a JSON file into a type; errors name the file, line and column.
pub(crate) fn json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    wb_core::run_dir::read_json(path)
}

/// A folder's own name.
fn name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Notes how many names there are of something, and the first three; nothing where there are none.
fn note_names(notes: &mut Vec<String>, what: &str, names: &[String]) {
    let shown: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
    let more = if names.len() > 3 { ", ..." } else { "" };
    notes.extend((!names.is_empty()).then(|| format!("{} {what}: {}{more}", names.len(), shown.join(", "))));
}

pub(crate) fn model_error(path: &Path, message: impl Into<String>, hint: &str) -> Error {
    let hint = (!hint.is_empty()).then(|| hint.to_owned());
    Error::file(path, message).with_hint_if(hint)
}
