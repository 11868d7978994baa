//! The relevance of a pair's documents that losses of cross-encoders are told: facts, or a teacher's scores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::labels::Labels;

/// Origin of the documents' relevance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relevance {
    /// The positive answers, a hard negative does not.
    #[default]
    Facts,
    /// The scores that pairs bring.
    Scores,
}

impl Relevance {
    /// One number a document, `[D]`: 1 for a positive and 0 for a hard negative, or its score. Labels are checked before.
    pub(super) fn of(self, labels: &Labels) -> Vec<f64> {
        let score = |at: usize| match self {
            Self::Facts => f64::from(u8::from(at < labels.pairs())),
            Self::Scores => f64::from(labels.scores()[at].unwrap_or_default()),
        };
        (0..labels.owners().len()).map(score).collect()
    }
}
