//! The interface for callers: questions with a name, answered once and remembered.

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    request::{Message, SamplingConfig, Usage},
};

/// One question of a recipe. Two questions with the same fields have the same key, and the same answer in the ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlmQuestion {
    /// Recipe that asks, with its version: `text2code/web_query@3f2a.../generate`.
    pub recipe: String,
    /// Id of the snippet that the question is about.
    pub item: String,
    /// Number among several candidates.
    pub sample: u32,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Settings for drawing; the seed is derived from the run's seed, item, sample and attempt.
    pub sampling: SamplingConfig,
    /// The schema of the answer; validated on our side whatever the engine enforces.
    pub schema: Option<serde_json::Value>,
}

/// An accepted answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The question's key in the ledger.
    pub key: String,
    /// The answer's text.
    pub text: String,
    /// The text as JSON, where a schema was asked for.
    pub value: Option<serde_json::Value>,
    /// Number of the attempt, from 0.
    pub attempt: u32,
    /// The seed of that attempt.
    pub seed: u32,
    /// Its tokens.
    pub usage: Usage,
    /// Milliseconds of the request that brought it; none in ledgers that do not say.
    pub milliseconds: Option<u32>,
}

/// A question that was given up, with the reason; counted, never silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The question's key in the ledger.
    pub key: String,
    /// Reason in words.
    pub reason: String,
}

/// The end of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Answered, now or in an earlier run.
    Answered(Answer),
    /// Given up.
    Rejected(Rejection),
}

/// Answers questions, several at once; what was answered before is not asked again.
pub trait Ask: Sync {
    /// The replies in the order of the questions. `each` is called as replies come, in any order, with the question's place.
    fn ask_all(&self, questions: &[LlmQuestion], each: &mut dyn FnMut(usize, &Reply)) -> Result<Vec<Reply>>;

    /// Called when all questions of a stage have been given to [`Ask::ask_all`], before their replies are used: an error of
    /// who could not have them all answered.
    fn settle(&self) -> Result<()> {
        Ok(())
    }
}
