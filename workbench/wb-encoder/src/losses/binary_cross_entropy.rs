//! Binary cross-entropy: each document with its own anchor by itself, relevant or not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    labels::Labels,
    loss::{Loss, Needs, OwnScoresLoss},
    relevance::Relevance,
};

/// Binary cross-entropy of a cross-encoder's numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BinaryCrossEntropyConfig {
    /// Relevance of documents: `facts` (the positive is, hard negatives are not), or `scores` of the pairs, from 0 to 1.
    pub relevance: Relevance,
}

/// Binary cross-entropy of a batch.
///
/// With y the relevance of a document and x its number: mean over the documents of log(1 + exp(x)) − y·x.
///
/// # Shapes
/// One number a document, `[D]`.
///
/// Equals sentence-transformers' `BinaryCrossEntropyLoss` of cross-encoders without `pos_weight`.
impl Loss for BinaryCrossEntropyConfig {
    fn needs(&self) -> Needs {
        let scores = self.relevance == Relevance::Scores;
        Needs { loss: "binary_cross_entropy", negatives: !scores, scores, ..Needs::default() }
    }

    fn on_own_scores(&self) -> Option<&dyn OwnScoresLoss> {
        Some(self)
    }

    fn is_of_pairs(&self) -> bool {
        true
    }
}

impl OwnScoresLoss for BinaryCrossEntropyConfig {
    fn of_scores(&self, scores: &[f32], labels: &Labels) -> (f64, Vec<f32>) {
        let n = scores.len() as f64;
        let mut sum = 0.0;
        let one = |(x, y): (&f32, f64)| {
            let x = f64::from(*x);
            // log(1 + exp(x)) without overflow.
            sum += x.max(0.0) + (-x.abs()).exp().ln_1p() - y * x;
            ((1.0 / (1.0 + (-x).exp()) - y) / n) as f32
        };
        let gradient = scores.iter().zip(self.relevance.of(labels)).map(one).collect();
        (sum / n, gradient)
    }
}
