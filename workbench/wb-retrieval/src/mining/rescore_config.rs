//! Scores that decide in place of the retriever's: those in a file, or a cross-encoder's.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{EncoderRef, Error, Result};

/// A stronger model's scores of the candidates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RescoreConfig {
    /// Scores of another program: JSON lines of `query` (a pair's id), `document`, `score`. `wb mine-negatives
    /// --candidates FILE` writes what there is to score. A candidate without a score is no negative; a positive
    /// without one is an error.
    File(#[serde(deserialize_with = "wb_core::paths::typed")] PathBuf),
    /// Scores of a model that reads query and document together, as sentence-transformers' `CrossEncoder` computes
    /// them: a run, a folder or a hub id of a `...ForSequenceClassification` on BERT, RoBERTa, ModernBERT, NomicBERT,
    /// Qwen2, Qwen3 or Gemma 3, with one label and the activation that it was saved with.
    CrossEncoder(CrossEncoderConfig),
}

/// A cross-encoder, with its own activation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["model"]))]
pub struct CrossEncoderConfig {
    /// A run, a folder, or a repository of the hub: `owner/name`, `owner/name@revision`; as a map `{ id: ..., revision: ...
    /// }`.
    pub model: EncoderRef,
    /// Query and document together are cut at so many tokens, special tokens included, the longer of the two first;
    /// null for the model's own number. Time grows with it.
    pub max_tokens: Option<usize>,
}

impl RescoreConfig {
    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> Result<()> {
        match self {
            Self::CrossEncoder(CrossEncoderConfig { max_tokens: Some(0), .. }) => {
                Err(Error::value(format!("{key}.cross_encoder.max_tokens"), "got 0, expected at least 4"))
            }
            Self::CrossEncoder(config) => {
                let checked = config.model.validate(&format!("{key}.cross_encoder.model"));
                checked.map_err(|error| {
                    error.with_hint("rescore: { cross_encoder: { model: cross-encoder/ms-marco-MiniLM-L6-v2 } }")
                })
            }
            Self::File(_) => Ok(()),
        }
    }

    /// The file, where it is one.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(file) => Some(file),
            Self::CrossEncoder(_) => None,
        }
    }

    /// The cross-encoder, where it is one.
    pub fn cross_encoder(&self) -> Option<&CrossEncoderConfig> {
        match self {
            Self::File(_) => None,
            Self::CrossEncoder(config) => Some(config),
        }
    }
}
