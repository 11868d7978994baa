//! ListNet: the documents of an anchor as two distributions, by number and by relevance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    distill_kl::log_softmax_of,
    labels::Labels,
    loss::{Loss, Needs, OwnScoresLoss},
    relevance::Relevance,
};
use crate::similarities::rows::by_owner;

/// Cross-entropy of a cross-encoder's numbers over each anchor's own documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListNetConfig {
    /// Relevance of documents: `facts` (the positive takes all of the distribution, as in localized contrastive estimation),
    /// or the softmax of the pairs' `scores`.
    pub relevance: Relevance,
}

/// ListNet of a batch.
///
/// Over the documents of each pair, its positive and its hard negatives: p = softmax of their numbers, q = all of it at
/// the positive, or the softmax of their scores. Mean over pairs of −Σ q·log p. Pairs may bring different numbers of
/// negatives.
///
/// # Shapes
/// One number a document, `[D]`.
///
/// Cao et al. 2007, "Learning to Rank: From Pairwise Approach to Listwise Approach"; Gao et al. 2021, arXiv 2101.08751.
/// With scores it equals sentence-transformers' `ListNetLoss`; with facts it is that loss where the positive's label is
/// far above the others'.
impl Loss for ListNetConfig {
    fn needs(&self) -> Needs {
        let scores = self.relevance == Relevance::Scores;
        Needs { loss: "list_net", negatives: true, scores, ..Needs::default() }
    }

    fn on_own_scores(&self) -> Option<&dyn OwnScoresLoss> {
        Some(self)
    }

    fn is_of_pairs(&self) -> bool {
        true
    }
}

impl OwnScoresLoss for ListNetConfig {
    fn of_scores(&self, scores: &[f32], labels: &Labels) -> (f64, Vec<f32>) {
        let pairs = labels.pairs() as f64;
        let relevance = self.relevance.of(labels);
        let mut gradient = vec![0.0; scores.len()];
        let mut sum = 0.0;
        for own in by_owner(labels.owners(), labels.pairs()) {
            let log_p = log_softmax_of(own.iter().map(|at| f64::from(scores[*at])).collect());
            let of_own: Vec<f64> = own.iter().map(|at| relevance[*at]).collect();
            let q = match self.relevance {
                Relevance::Facts => of_own,
                Relevance::Scores => log_softmax_of(of_own).into_iter().map(f64::exp).collect(),
            };
            for ((at, log_p), q) in own.iter().zip(log_p).zip(q) {
                sum -= if q > 0.0 { q * log_p } else { 0.0 };
                gradient[*at] = ((log_p.exp() - q) / pairs) as f32;
            }
        }
        (sum / pairs, gradient)
    }
}
