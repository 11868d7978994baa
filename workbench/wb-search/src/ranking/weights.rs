//! Weights of a ranking's signals, for each kind of question.

use serde::{Deserialize, Serialize};

use super::Intent;
use crate::{files::FileRole, issue::IssueWeights};

/// Weights for all kinds of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RankingWeights {
    /// Weights for names.
    pub symbol: SignalWeights,
    /// Weights for words.
    pub prose: SignalWeights,
    /// Weights for the parts of an issue; none to ask for it as a whole.
    pub issue: Option<IssueWeights>,
}

impl Default for RankingWeights {
    fn default() -> Self {
        Self { symbol: SignalWeights::default(), prose: SignalWeights::default(), issue: Some(IssueWeights::default()) }
    }
}

impl RankingWeights {
    /// Plain BM25 over the text of units.
    pub fn plain() -> Self {
        Self { symbol: SignalWeights::plain(), prose: SignalWeights::plain(), issue: None }
    }

    pub(crate) fn of(&self, intent: Intent) -> &SignalWeights {
        match intent {
            Intent::Symbol => &self.symbol,
            Intent::Prose => &self.prose,
        }
    }
}

/// Weights for one kind of question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SignalWeights {
    /// BM25's k1: how soon further occurrences of a word stop to count.
    pub k1: f32,
    /// BM25's b: how much a long unit's words count less.
    pub b: f32,
    /// Occurrences in names count so many times.
    pub names: f32,
    /// Occurrences in comments above and in the defining line count so many times.
    pub head: f32,
    /// Weight of the question's share that the path has.
    pub path: f32,
    /// Weight of the question's share that the file's own name has.
    pub stem: f32,
    /// Weight of a name that the question spells.
    pub defines: f32,
    /// Weight of the other units of the file that match.
    pub coherence: f32,
    /// Weight of the question's vector being near the unit's, where an encoder made them.
    pub means: f32,
    /// Factor for each unit of the same file that stands before.
    pub again: f32,
    /// Factors for files that are no source, by role: test, example, declaration, generated, docs, config.
    pub roles: [f32; 6],
}

impl SignalWeights {
    pub(crate) fn role(&self, role: FileRole) -> f32 {
        match role {
            FileRole::Source | FileRole::Other => 1.0,
            FileRole::Test => self.roles[0],
            FileRole::Example => self.roles[1],
            FileRole::Declaration => self.roles[2],
            FileRole::Generated => self.roles[3],
            FileRole::Docs => self.roles[4],
            FileRole::Config => self.roles[5],
        }
    }
}

/// Fitted to the development parts of semble's, SWE-QA's and cqs' questions by the example `tune_ranking`.
impl Default for SignalWeights {
    fn default() -> Self {
        Self {
            k1: 1.7,
            b: 0.6,
            names: 2.25,
            head: 0.75,
            path: 0.45,
            stem: 0.45,
            defines: 0.65,
            coherence: 0.45,
            means: 0.9,
            again: 0.85,
            roles: [0.7, 0.7, 0.8, 0.4, 0.525, 0.5],
        }
    }
}

impl SignalWeights {
    /// Weights of plain BM25.
    pub fn plain() -> Self {
        Self {
            k1: 1.5,
            b: 0.75,
            names: 0.0,
            head: 0.0,
            path: 0.0,
            stem: 0.0,
            defines: 0.0,
            coherence: 0.0,
            means: 0.0,
            again: 1.0,
            roles: [1.0; 6],
        }
    }
}
