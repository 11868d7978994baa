//! Requests to a language model, and its answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Tells the model about its work.
    System,
    /// Asks the model.
    User,
    /// The model itself, in few-shot examples.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Speaker of the message.
    pub role: Role,
    /// Text of the message. Text that is not our own has been made harmless before (see `neutral`).
    pub content: String,
}

/// Rules by which the next token is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingConfig {
    /// 0 takes the likeliest token.
    pub temperature: f32,
    /// Draws among the likeliest tokens that together have this probability; 1 is all.
    pub top_p: f32,
    /// Tokens of the answer at most.
    pub max_tokens: u32,
}

impl Default for SamplingConfig {
    fn default() -> Self {
        Self { temperature: 1.0, top_p: 1.0, max_tokens: 512 }
    }
}

impl SamplingConfig {
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
    /// Settings for drawing.
    pub sampling: SamplingConfig,
    /// Seed of drawing; never 0xFFFF_FFFF, which servers read as "random".
    pub seed: u32,
    /// A JSON schema that the answer has to follow; none for free text.
    pub schema: Option<serde_json::Value>,
}

/// The reason for which a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// Ended by the model.
    Stop,
    /// Cut at `max_tokens`.
    Length,
    /// Something else, in the server's word; empty where none was given.
    Other(String),
}

/// Tokens that a request cost, as the engine says; `None` is unknown, which is not 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt: Option<u64>,
    /// Tokens of the prompt that were taken from a cache.
    pub cached: Option<u64>,
    /// Tokens of the answer.
    pub completion: Option<u64>,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The text, as it came.
    pub text: String,
    /// Reason for its end.
    pub finish: FinishReason,
    /// Tokens that it cost.
    pub usage: Usage,
    /// True where the engine said that it cut the prompt.
    pub truncated: bool,
}
