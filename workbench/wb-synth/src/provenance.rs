//! Where each pair came from, one JSON line a pair: enough to find its source, and to ask the same again.

use serde::{Deserialize, Serialize};
use wb_core::pair::Origin;

/// One question behind a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// `generate`, `generate2`, `judge`, `negatives`.
    pub stage: String,
    /// The question's key in the ledger.
    pub key: String,
    /// The seed that the answer was drawn with.
    pub seed: u32,
    /// Which attempt gave it, from 0.
    pub attempt: u32,
}

impl Asked {
    /// What an answer leaves behind.
    pub fn of(stage: &str, answer: &wb_llm::Answer) -> Self {
        Self { stage: stage.to_owned(), key: answer.key.clone(), seed: answer.seed, attempt: answer.attempt }
    }
}

/// Where a pair came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The pair's id.
    pub id: String,
    /// The task's full name.
    pub task: String,
    /// The snippet's id.
    pub item: String,
    /// Which of the item's candidates.
    pub sample: u32,
    /// The snippet's language, or the one that was drawn for it.
    pub language: String,
    /// The language that was translated into; empty for none.
    pub target_language: String,
    /// Group, file, lines and license of the snippet.
    pub source: Origin,
    /// BLAKE3 of all messages of the questions that wrote the pair.
    pub prompt_hash: String,
    /// The model's name as its engine gives it.
    pub model: String,
    /// BLAKE3 of the model's file where it was at hand.
    pub model_hash: String,
    /// `http`, `sidecar`, `embedded` or `replay`.
    pub engine: String,
    /// The run's seed.
    pub seed: u64,
    /// The questions behind it, in order.
    pub asked: Vec<Asked>,
    /// The judge's label, where there was a judge.
    pub label: Option<u8>,
    /// How usual its sides' lengths are for the task, 0 to 1.
    pub clarity: f64,
    /// What a person said on the review page.
    pub review: Option<crate::review::Verdict>,
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
