//! Prompts to completions: engines that run a language model, and what stands above all of them.
//!
//! [`LlmEngine`] is one model behind one way to reach it; [`Ask`] is what callers use: it retries, validates and remembers.

pub mod ask;
pub mod engine;
pub mod engines;
pub mod error;
pub mod request;

pub use ask::{Answer, Ask, Question, Rejection, Reply};
pub use engine::{EngineInfo, LlmEngine};
pub use error::{Error, Failure, Result};
pub use request::{ChatRequest, Completion, FinishReason, Message, Role, Sampling, Usage};
