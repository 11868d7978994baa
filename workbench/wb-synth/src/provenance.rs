//! Provenance of each pair, one JSON line a pair: enough to find its source, and to make or to ask the same again.
//!
//! One shape for all: a pair of the rules has no model and no questions, one of a model no rules.

use serde::{Deserialize, Serialize};
use wb_core::pair::Origin;
use wb_llm::EngineInfo;

use crate::{review::ReviewVerdict, rules::Applied};

/// One question behind a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedQuestion {
    /// `generate`, `generate2`, `judge`, `negatives`, `annotate`.
    pub stage: String,
    /// The question's key in the ledger.
    pub key: String,
    /// The seed that the answer was drawn with.
    pub seed: u32,
    /// Number of the attempt that gave it, from 0.
    pub attempt: u32,
}

impl AskedQuestion {
    /// The record of an answer.
    pub fn of(stage: &str, answer: &wb_llm::Answer) -> Self {
        Self { stage: stage.to_owned(), key: answer.key.clone(), seed: answer.seed, attempt: answer.attempt }
    }
}

/// The maker of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maker {
    /// A language model, by the chain of `synth:`.
    #[default]
    Model,
    /// A language model, as an example query of `annotate:`.
    Annotation,
    /// Rules alone.
    Rules,
}

impl Maker {
    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Annotation => "annotation",
            Self::Rules => "rules",
        }
    }
}

/// The origin of a pair and the way it was made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The pair's id.
    pub id: String,
    /// Its maker.
    pub made_by: Maker,
    /// The task's full name: `text2code/web_query`, `text2code/annotation`, `code2code/rewrite`.
    pub task: String,
    /// The snippet's id.
    pub item: String,
    /// Number of the candidate, query or version among those of the item, from 0.
    pub sample: u32,
    /// The snippet's language, or the one that was drawn for it.
    pub language: String,
    /// The language that was translated into; empty for none.
    pub target_language: String,
    /// Group, file, lines and license of the snippet, for rules of the function.
    pub source: Origin,
    /// BLAKE3 of all messages of the questions that wrote the pair; empty where nothing was asked.
    pub prompt_hash: String,
    /// The model's name as its engine gives it; empty where nothing was asked.
    pub model: String,
    /// BLAKE3 of the model's file where it was at hand.
    pub model_hash: String,
    /// `http`, `sidecar`, `embedded` or `replay`; empty where nothing was asked.
    pub engine: String,
    /// The run's seed.
    pub seed: u64,
    /// The questions behind it, in order.
    pub asked: Vec<AskedQuestion>,
    /// The rules behind it; null where a model wrote it.
    pub rules: Option<Applied>,
    /// The judge's label, where there was a judge.
    pub label: Option<u8>,
    /// Closeness of its sides' lengths to the task's usual ones, 0 to 1; null for pairs that were not chosen by it.
    pub clarity: Option<f64>,
    /// The decision of a person on the review page.
    pub review: Option<ReviewVerdict>,
}

impl Provenance {
    /// One with the model's name, hash and engine in it.
    pub(crate) fn of_model(info: &EngineInfo) -> Self {
        Self {
            model: info.model.clone(),
            model_hash: info.model_hash.clone(),
            engine: info.engine.clone(),
            ..Self::default()
        }
    }
}

/// JSON lines, one for each.
pub fn to_lines<T: Serialize>(records: &[T]) -> wb_core::Result<String> {
    let mut text = String::new();
    for record in records {
        let line =
            serde_json::to_string(record).map_err(|error| wb_core::Error::data("provenance", error.to_string()))?;
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}
