//! The pivot of this crate: one model behind one way to reach it.

use serde::{Deserialize, Serialize};

use crate::{
    error::Failure,
    request::{ChatRequest, Completion, Sampling},
};

/// What is known of an engine before it is asked anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineInfo {
    /// `http`, `sidecar`, `embedded` or `replay`.
    pub engine: String,
    /// The model's name as the engine gives it.
    pub model: String,
    /// BLAKE3 of the model's file where it is at hand, else of what the server says of it.
    pub model_hash: String,
    /// Tokens of prompt and answer together, where it is known.
    pub context: Option<u32>,
    /// The engine's own version.
    pub build: String,
    /// How many requests it works on at once.
    pub parallel: usize,
}

/// A language model that can be asked. One call is one attempt: nothing is retried, validated or remembered here.
pub trait LlmEngine: Send + Sync {
    /// What it is.
    fn info(&self) -> &EngineInfo;

    /// Answers a conversation, written with the model's own chat template.
    fn chat(&self, request: &ChatRequest) -> Result<Completion, Failure>;

    /// Goes on with a text as it stands, without a chat template.
    fn complete(&self, prompt: &str, sampling: &Sampling, seed: u32) -> Result<Completion, Failure>;

    /// The tokens of a text, control tokens read as such; `None` where the engine cannot say.
    fn tokenize(&self, text: &str) -> Result<Option<Vec<u32>>, Failure>;
}
