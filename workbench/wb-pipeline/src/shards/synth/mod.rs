//! Questions to a language model, asked on many machines. A plan has the questions of one stage of `wb synth`; once they
//! are answered, the same synthesis, by what is known by then, says what is to be asked next, until nothing is. The answers
//! are a ledger's, so that what is made of them is what one process makes of its own.

mod answers;
mod questions;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use wb_core::{Error, fingerprint::Fingerprint};
use wb_llm::EngineInfo;

pub use self::answers::{SynthPlan, synthesized};
pub(super) use self::{
    answers::{merge, next_pass},
    questions::run,
};
use super::passes::{DonePass, EarlierPass};
use crate::config::Experiment;

/// Inputs of a plan: its questions, and what was known before any plan.
const QUESTIONS: &str = "questions.parquet";
const KNOWN: &str = "known.jsonl";
/// File of a shard.
const ANSWERS: &str = "answers.jsonl";

/// Settings of a pass.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionShards {
    /// The sections that make pairs, with the model that is asked.
    experiment: Experiment,
    /// Fingerprint of the snippets.
    snippets: Fingerprint,
    /// Passes before this one, in order.
    before: Vec<EarlierPass>,
    /// The model whose answers are known already, which every shard has to ask, too.
    model: Option<AskedEngine>,
    /// Number of shards that was asked for.
    shards: Option<u64>,
    /// Questions of a shard that were asked for.
    rows: Option<u64>,
}

/// A model, as far as it is in the names of questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedEngine {
    /// Name of the engine.
    engine: String,
    /// Name of the model, for people.
    model: String,
    /// Hash of the model.
    model_hash: String,
}

impl AskedEngine {
    fn of(info: &EngineInfo) -> Self {
        Self { engine: info.engine.clone(), model: info.model.clone(), model_hash: info.model_hash.clone() }
    }

    /// True for the same answers.
    fn is(&self, other: &Self) -> bool {
        (&self.engine, &self.model_hash) == (&other.engine, &other.model_hash)
    }

    fn shown(&self) -> String {
        let hash = self.model_hash.get(..16).unwrap_or(&self.model_hash);
        format!("{} ({}, {hash})", self.model, self.engine)
    }
}

/// Account of a shard.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnsweredShard {
    /// The model that was asked.
    model: AskedEngine,
    /// Number of questions.
    questions: usize,
    /// Number of those that were given up.
    rejected: usize,
    /// Number of answers that earlier attempts had left.
    found: usize,
}

/// The model that all shards of a pass have asked.
fn model_of(pass: &DonePass) -> Result<Option<AskedEngine>> {
    let mut first: Option<AskedEngine> = None;
    for manifest in &pass.manifests {
        let model = manifest.typed_account::<AnsweredShard>()?.model;
        match &first {
            Some(known) if !known.is(&model) => {
                let (shard, place) = (manifest.shard, pass.plan.place());
                let what = format!("shard {shard} asked {}, those before it {}", model.shown(), known.shown());
                let hint = format!("where the model of the plan is: wb shards run {place} --shard {shard} --anew");
                return Err(Error::data(place, what).with_hint(hint).into());
            }
            Some(_) => {}
            None => first = Some(model),
        }
    }
    Ok(first)
}
