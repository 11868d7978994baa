//! What is asked of a language model, and what comes back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What the model is told about its work.
    System,
    /// What it is asked.
    User,
    /// What it said, in few-shot examples.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said. Text that is not our own has been made harmless before (see `neutral`).
    pub content: String,
}

/// How the next token is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// 0 takes the likeliest token.
    pub temperature: f32,
    /// Draws among the likeliest tokens that together have this probability; 1 is all.
    pub top_p: f32,
    /// Tokens of the answer at most.
    pub max_tokens: u32,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 1.0, top_p: 1.0, max_tokens: 512 }
    }
}

impl Sampling {
    /// Refuses values that make no sense for answers of at least `least` tokens; `key` is where they stand.
    pub fn validate(&self, key: &str, least: u32) -> wb_core::Result<()> {
        let wrong = |name: &str, message: String| Err(wb_core::Error::value(format!("{key}.{name}"), message));
        if !(0.0..=5.0).contains(&self.temperature) {
            return wrong("temperature", format!("got {}, expected 0 to 5", self.temperature));
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return wrong("top_p", format!("got {}, expected more than 0, at most 1", self.top_p));
        }
        if !(least..=65_536).contains(&self.max_tokens) {
            return wrong("max_tokens", format!("got {}, expected {least} to 65536", self.max_tokens));
        }
        Ok(())
    }
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// How to draw.
    pub sampling: Sampling,
    /// Where drawing begins; never 0xFFFF_FFFF, which servers read as "random".
    pub seed: u32,
    /// A JSON schema that the answer has to follow; none for free text.
    pub schema: Option<serde_json::Value>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It said that it is done.
    Stop,
    /// It was cut at `max_tokens`.
    Length,
    /// Something else, in the server's word; empty where none was given.
    Other(String),
}

/// Tokens that a request cost, as the engine says; `None` is unknown, which is not 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Of the prompt.
    pub prompt: Option<u64>,
    /// Of the prompt, taken from a cache.
    pub cached: Option<u64>,
    /// Of the answer.
    pub completion: Option<u64>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The text, as it came.
    pub text: String,
    /// Why it ends.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
    /// Whether the engine said that it cut the prompt.
    pub truncated: bool,
}
