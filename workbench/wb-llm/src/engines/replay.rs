//! Replay without a model: an earlier run's answers stand in its ledger, and what does not stand there cannot be had.

use wb_core::Seed;

use crate::{
    Error, Failure, Result,
    engine::{EngineInfo, LlmEngine},
    ledger::{Ledger, Opened},
    request::{ChatRequest, Completion, SamplingConfig},
};

/// Digits of a model's hash that are enough to name it by.
const DIGITS: usize = 8;

/// Chooses the engine to replay: the only model that answered with this seed, or of several the one named by its name, its
/// file's name, or the beginning of its hash.
pub fn choose<'a>(ledger: &'a Ledger, name: &str, seed: Seed) -> Result<&'a Opened> {
    let path = ledger.path().display();
    let all = ledger.opened_all();
    let Some(last) = all.last() else {
        return Err(Error::file(ledger.path(), "nobody has answered here, so nothing can be replayed"));
    };
    // The last of each: what was found out of an engine may have changed from run to run.
    let mut models: Vec<&Opened> = Vec::new();
    for opened in all.iter().rev().filter(|opened| opened.seed == seed.0) {
        let info = &opened.engine;
        if !models.iter().any(|known| known.engine.engine == info.engine && known.engine.model_hash == info.model_hash)
        {
            models.push(opened);
        }
    }
    let is_named = |opened: &&&Opened| {
        let EngineInfo { model, model_hash, .. } = &opened.engine;
        let file = name.rsplit('/').next().unwrap_or_default();
        model == name || model == file || (name.len() >= DIGITS && model_hash.starts_with(name))
    };
    let named: Vec<&&Opened> = models.iter().filter(is_named).collect();
    match (models.as_slice(), named.as_slice()) {
        ([], _) => Err(Error::file(ledger.path(), format!("recorded with seed {}, asked with {}", last.seed, seed.0))),
        ([only], _) => Ok(only),
        (_, [one]) => Ok(one),
        (models, _) => {
            let model = |opened: &&Opened| {
                let EngineInfo { engine, model, model_hash, .. } = &opened.engine;
                format!("{model} ({engine}, {})", model_hash.get(..2 * DIGITS).unwrap_or(model_hash))
            };
            Err(Error::value(
                "llm.model",
                format!(
                    "`{name}`, expected the name or the first {DIGITS} digits of the hash of one of the {} models whose answers are in {path}: {}",
                    models.len(),
                    models.iter().map(model).collect::<Vec<_>>().join(", ")
                ),
            ))
        }
    }
}

/// Says who answered the recorded questions, and answers none itself.
pub struct ReplayEngine {
    info: EngineInfo,
}

impl ReplayEngine {
    /// Answers in the name of the engine that was recorded: its name and model are part of the questions' keys.
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

    fn complete(&self, _: &str, _: &SamplingConfig, _: u32) -> Result<Completion, Failure> {
        refused()
    }

    fn tokenize(&self, _: &str) -> Result<Option<Vec<u32>>, Failure> {
        Ok(None)
    }
}
