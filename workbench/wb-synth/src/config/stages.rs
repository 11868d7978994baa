//! One section for each stage: how the model is asked there, and what is done with its answers.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};
use wb_llm::SamplingConfig;

/// Gives the sections of stages that ask the model what they have in common.
macro_rules! sampled {
    ($($config:ident),*) => {$(
        impl $config {
            /// The sampling of its answers.
            pub fn sampling(&self) -> SamplingConfig {
                SamplingConfig { temperature: self.temperature, top_p: self.top_p, max_tokens: self.max_tokens }
            }
        }
    )*};
}
sampled!(GenerateConfig, JudgeConfig, NegativesConfig, BrainstormConfig);

/// Writing of pairs. CodeR drew at temperature 1.0 with top-p 0.6.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct GenerateConfig {
    /// 0 takes the likeliest token.
    pub temperature: f32,
    /// Draws among the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// Tokens of an answer at most.
    pub max_tokens: u32,
}

impl Default for GenerateConfig {
    fn default() -> Self {
        Self { temperature: 1.0, top_p: 0.6, max_tokens: 1024 }
    }
}

impl GenerateConfig {
    pub(super) fn validate(&self, key: &str) -> Result<()> {
        self.sampling().validate(key, 1)
    }
}

/// Examples of a finished pair, shown as an earlier question with its answer. CodeR showed three.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct FewShotConfig {
    /// The most examples for a task; those of a task are drawn once, so that every prompt of it begins alike.
    pub count: usize,
    /// Shows the examples that come with the tasks too.
    pub built_in: bool,
    /// JSON lines with `task`, `snippet`, `language`, and what the task's steps write under its name (`query`, `document`, `note`).
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub files: Vec<PathBuf>,
}

impl Default for FewShotConfig {
    fn default() -> Self {
        Self { count: 3, built_in: true, files: Vec::new() }
    }
}

/// The model as a judge of a pair: 0, 1 or 2.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct JudgeConfig {
    /// 0 takes the likeliest token, so that the same pair is judged alike.
    pub temperature: f32,
    /// Draws among the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// Tokens of a judgment at most.
    pub max_tokens: u32,
    /// Labels of the pairs that stay. 0: a side is of the wrong sort; 1: both fit and belong together; 2: both fit, and do not.
    pub keep: Vec<u8>,
    /// Pairs that a person labelled, as JSON lines of `query`, `document`, `task`, `label`: the judge's precision goes into the card.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub gold: Option<PathBuf>,
}

impl Default for JudgeConfig {
    fn default() -> Self {
        Self { temperature: 0.0, top_p: 1.0, max_tokens: 64, keep: vec![1], gold: None }
    }
}

impl JudgeConfig {
    pub(super) fn validate(&self, key: &str) -> Result<()> {
        self.sampling().validate(key, 1)?;
        if self.keep.is_empty() || self.keep.iter().any(|label| *label > 2) {
            return Err(Error::value(
                format!("{key}.keep"),
                format!("got {:?}, expected labels among 0, 1 and 2", self.keep),
            ));
        }
        Ok(())
    }
}

/// Rules by which candidates become pairs: those that are correct, clear and unlike each other.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct SelectConfig {
    /// Characters of each side, at least and at most.
    pub chars: [usize; 2],
    /// Drops candidates with code of the model that does not parse, where there is a grammar for its language.
    pub parses: bool,
    /// Calls both sides of tasks that promise the same results with drawn values, in Python and JavaScript, in a child
    /// process under limits. This executes code of the sources and of the model.
    pub runs: bool,
    /// Pairs of one kind whose sets of five-token shingles have at least this Jaccard similarity are near duplicates; 0 for off.
    pub near: f64,
    /// Candidates of one item that may stay.
    pub per_item: usize,
    /// Pairs of each kind that stay, drawn from its tasks in turn; null for all.
    pub per_kind: Option<usize>,
}

impl Default for SelectConfig {
    fn default() -> Self {
        Self { chars: [10, 20_000], parses: true, runs: false, near: 0.85, per_item: 1, per_kind: None }
    }
}

impl SelectConfig {
    pub(super) fn validate(&self, key: &str) -> Result<()> {
        let bad = |name: &str, message: String| Err(Error::value(format!("{key}.{name}"), message));
        let [least, most] = self.chars;
        if least == 0 || least > most {
            return bad("chars", format!("[{least}, {most}], expected at least one character, and the smaller first"));
        }
        if self.near != 0.0 && !(0.3..=1.0).contains(&self.near) {
            return bad("near", format!("got {}, expected 0 for off, or 0.3 to 1", self.near));
        }
        if self.per_item == 0 {
            return bad("per_item", "got 0, expected at least 1".into());
        }
        if self.per_kind == Some(0) {
            return bad("per_kind", "got 0, expected at least 1, or null for all".into());
        }
        Ok(())
    }
}

/// Hard negatives written by the model.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct NegativesConfig {
    /// Number of hard negatives for each pair, in one answer.
    pub per_pair: usize,
    /// 0 takes the likeliest token.
    pub temperature: f32,
    /// Draws among the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// Tokens of an answer at most.
    pub max_tokens: u32,
}

impl Default for NegativesConfig {
    fn default() -> Self {
        Self { per_pair: 1, temperature: 1.0, top_p: 0.6, max_tokens: 2048 }
    }
}

impl NegativesConfig {
    /// The finding of CodeR's ablation on such negatives (CoIR, NDCG@10).
    pub fn warning(&self) -> String {
        format!(
            "{} generated negative(s) a pair: in CodeR's ablation 7 generated negatives scored 56.40 and 1 scored 59.38, against 67.29 with mined ones; `negatives:` mines them",
            self.per_pair
        )
    }

    pub(super) fn validate(&self, key: &str) -> Result<()> {
        self.sampling().validate(key, 1)?;
        match self.per_pair {
            1..=32 => Ok(()),
            n => Err(Error::value(format!("{key}.per_pair"), format!("got {n}, expected 1 to 32"))),
        }
    }
}

/// New tasks that the model proposes, for a person to edit.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct BrainstormConfig {
    /// Proposals asked for each kind that takes part.
    pub per_kind: usize,
    /// Uses the new tasks in this run already; else they are only written down.
    pub join: bool,
    /// 0 takes the likeliest token.
    pub temperature: f32,
    /// Draws among the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// Tokens of an answer at most.
    pub max_tokens: u32,
}

impl Default for BrainstormConfig {
    fn default() -> Self {
        Self { per_kind: 5, join: false, temperature: 1.0, top_p: 0.9, max_tokens: 2048 }
    }
}

impl BrainstormConfig {
    pub(super) fn validate(&self, key: &str) -> Result<()> {
        self.sampling().validate(key, 1)?;
        match self.per_kind {
            1..=32 => Ok(()),
            n => Err(Error::value(format!("{key}.per_kind"), format!("got {n}, expected 1 to 32"))),
        }
    }
}
