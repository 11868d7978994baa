//! Answers of servers, as far as they are needed. Every field may be missing: no two servers agree on all of them.

use serde::Deserialize;
use serde_json::Value;

use crate::request::{FinishReason, Usage};

/// An error's body: `{"error": {"message", "type"}}`, `{"error": "message"}`, or `{"message", "type"}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorBody {
    error: Option<Value>,
    message: Option<String>,
    r#type: Option<String>,
}

impl ErrorBody {
    fn field<'a>(&'a self, name: &str, beside: Option<&'a String>) -> Option<&'a str> {
        let inside = self.error.as_ref().and_then(|error| error.get(name)).and_then(Value::as_str);
        inside.or(beside.map(String::as_str))
    }

    /// The server's message.
    pub fn message(&self) -> Option<&str> {
        self.field("message", self.message.as_ref()).or(self.error.as_ref().and_then(Value::as_str))
    }

    /// Its class.
    pub fn kind(&self) -> Option<&str> {
        self.field("type", self.r#type.as_ref())
    }
}

/// An answer of `/v1/chat/completions` or `/v1/completions`, whole or a piece of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct OpenAi {
    pub choices: Vec<CompletionChoice>,
    pub usage: Option<OpenAiUsage>,
    pub truncated: Option<bool>,
    /// Error, which in streams may come after the status has been sent.
    pub error: Option<Value>,
}

/// One answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CompletionChoice {
    pub message: Option<Content>,
    pub delta: Option<Content>,
    pub text: Option<String>,
    pub finish_reason: Option<String>,
}

/// A message's text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Content {
    pub content: Option<String>,
}

/// Tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct OpenAiUsage {
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub prompt_tokens_details: Option<PromptDetails>,
}

/// Details of the prompt's tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PromptDetails {
    pub cached_tokens: Option<u64>,
}

impl From<OpenAiUsage> for Usage {
    fn from(usage: OpenAiUsage) -> Self {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Self { prompt: usage.prompt_tokens, cached, completion: usage.completion_tokens }
    }
}

/// An answer of Ollama's `/api/chat` or `/api/generate`, whole or a piece of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Ollama {
    pub message: Option<Content>,
    pub response: Option<String>,
    pub done: Option<bool>,
    pub done_reason: Option<String>,
    pub prompt_eval_count: Option<u64>,
    pub eval_count: Option<u64>,
    pub error: Option<Value>,
}

/// An answer of `/v1/models`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Models {
    pub data: Vec<ServedModel>,
}

/// A model of a server.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct ServedModel {
    pub id: String,
    pub owned_by: Option<String>,
    /// vLLM's.
    pub max_model_len: Option<u32>,
    /// llama-server's: sizes of the model.
    pub meta: Option<Value>,
}

/// An answer of `/tokenize`: llama-server's and vLLM's have the same field.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TokenizeReply {
    pub tokens: Option<Vec<u32>>,
}

/// An answer of llama-server's `/tokenize` that was asked for the texts of the tokens, too.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TokenPieces {
    pub tokens: Vec<Piece>,
}

/// A token and its text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Piece {
    pub id: u32,
    /// A text, or the bytes of a part of a character.
    pub piece: Value,
}

/// An answer of Ollama's `/api/show` that was asked for the vocabulary, too.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Shown {
    pub model_info: ShownVocabulary,
}

/// The tokens of a model and the numbers of their kinds, as its file lists them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ShownVocabulary {
    #[serde(rename = "tokenizer.ggml.tokens")]
    pub tokens: Option<Vec<String>>,
    #[serde(rename = "tokenizer.ggml.token_type")]
    pub kinds: Option<Vec<i64>>,
}

/// A server's word for why it stopped, in ours.
pub fn finish(word: Option<String>) -> FinishReason {
    match word.as_deref() {
        // The last two are Text Generation Inference's: the model's own end, and a stop word.
        Some("stop" | "eos" | "eos_token" | "stop_sequence") => FinishReason::Stop,
        Some("length" | "limit" | "max_tokens") => FinishReason::Length,
        _ => FinishReason::Other(word.unwrap_or_default()),
    }
}
