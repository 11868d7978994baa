//! The pivot of this crate: one model behind one way to reach it.

use serde::{Deserialize, Serialize};

use crate::{
    controls::KnownControls,
    error::Failure,
    neutral::neutral,
    request::{ChatRequest, Completion, SamplingConfig},
};

/// The identity of an engine, known before it is asked anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineInfo {
    /// `http`, `sidecar`, `embedded` or `replay`.
    pub engine: String,
    /// The model's name as the engine gives it.
    pub model: String,
    /// Identity of the model: BLAKE3 of the model's file, or, for a server, of what it says of its model, with the file's
    /// hash in it where that is at hand.
    pub model_hash: String,
    /// BLAKE3 of the model's file; none is unknown: a server did not say where it lies, or it lies on another machine.
    pub file_hash: Option<String>,
    /// Tokens of prompt and answer together, where it is known.
    pub context: Option<u32>,
    /// The engine's own version.
    pub build: String,
    /// Number of requests that it works on at once.
    pub parallel: usize,
    /// Known control tokens of the model, which no message may hold.
    #[serde(default)]
    pub controls: KnownControls,
}

/// A language model that can be asked. One call is one attempt: nothing is retried, validated or remembered here.
pub trait LlmEngine: Send + Sync {
    /// The engine's identity.
    fn info(&self) -> &EngineInfo;

    /// Names its place for messages about its failures: a server's address, a log, a file.
    fn place(&self) -> String {
        self.info().model.clone()
    }

    /// Answers a conversation, written with the model's own chat template.
    fn chat(&self, request: &ChatRequest) -> Result<Completion, Failure>;

    /// Goes on with a text as it stands, without a chat template.
    fn complete(&self, prompt: &str, sampling: &SamplingConfig, seed: u32) -> Result<Completion, Failure>;

    /// A message as it may be sent: without control tokens of this model, as far as [`EngineInfo::controls`] says that they
    /// are known. What this engine cannot say of its own model is broken as for common ones.
    fn harmless(&self, message: &str) -> Result<String, Failure> {
        Ok(neutral(message))
    }

    /// The tokens of a text, control tokens read as such; `None` where the engine cannot say.
    fn tokenize(&self, text: &str) -> Result<Option<Vec<u32>>, Failure>;
}
