//! Prompts to completions: engines that run a language model, and what stands above all of them.
//!
//! [`LlmEngine`] is one model behind one way to reach it; [`Ask`] is what callers use: it retries, validates and
//! remembers. [`Client`] is the `Ask` of an engine and a [`ledger`].

pub mod account;
pub mod ask;
mod attempts;
pub mod canaries;
pub mod client;
mod collector;
pub mod config;
pub mod controls;
pub mod engine;
pub mod engines;
pub mod error;
pub mod gguf;
pub mod keys;
pub mod ledger;
pub mod neutral;
mod records;
pub mod request;
mod retry;
pub mod schema;
pub mod secret;

pub use account::{LedgerAccount, RecipeAccount, TokenTotals};
pub use ask::{Answer, Ask, LlmQuestion, Rejection, Reply};
pub use canaries::Canaries;
pub use client::Client;
pub use collector::{Collector, Unanswered};
pub use config::{Determinism, EngineConfig, LlmConfig};
pub use engine::{EngineInfo, LlmEngine};
pub use error::Failure;
pub use ledger::Ledger;
pub use request::{ChatRequest, Completion, FinishReason, Message, Role, SamplingConfig, Usage};
pub use schema::Schema;
pub use wb_core::{Error, Result};
