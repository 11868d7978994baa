//! No model at all: an earlier run's answers stand in its ledger, and what does not stand there cannot be had.

use crate::{
    engine::{EngineInfo, LlmEngine},
    error::Failure,
    request::{ChatRequest, Completion, Sampling},
};

/// Says who answered the recorded questions, and answers none itself.
pub struct ReplayEngine {
    info: EngineInfo,
}

impl ReplayEngine {
    /// In the name of the engine that was recorded: its name and model are part of the questions' keys.
    pub fn new(info: EngineInfo) -> Self {
        Self { info }
    }
}

fn refused<T>() -> Result<T, Failure> {
    Err(Failure::Stop("a replay asks no model, and this question is not in the ledger".into()))
}

impl LlmEngine for ReplayEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn chat(&self, _: &ChatRequest) -> Result<Completion, Failure> {
        refused()
    }

    fn complete(&self, _: &str, _: &Sampling, _: u32) -> Result<Completion, Failure> {
        refused()
    }

    fn tokenize(&self, _: &str) -> Result<Option<Vec<u32>>, Failure> {
        Ok(None)
    }
}
