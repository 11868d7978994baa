//! Margin-MSE: how much better the positive is than each hard negative, as a teacher says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    labels::Labels,
    loss::{Loss, Needs, OwnScoresLoss},
};

/// Margin-MSE from a teacher's scores.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MarginMseConfig {}

/// Margin-MSE of a batch.
///
/// With t the teacher's scores: mean over all hard negatives `n` of the batch, each with the anchor `a` and the positive
/// `p` of its pair, of ((s(a, p) − s(a, n)) − (t_p − t_n))². The teacher's margins have to be within reach of the
/// similarity: those of a cosine are at most 2.
///
/// # Shapes
/// One score a document, `[D]`, D − B of them of hard negatives.
///
/// Hofstätter et al. 2021, arXiv 2010.02666. Equals sentence-transformers' `MarginMSELoss`, whose default similarity is
/// the dot product.
impl Loss for MarginMseConfig {
    fn needs(&self) -> Needs {
        Needs { loss: "margin_mse", negatives: true, scores: true, ..Needs::default() }
    }

    fn on_own_scores(&self) -> Option<&dyn OwnScoresLoss> {
        Some(self)
    }
}

impl OwnScoresLoss for MarginMseConfig {
    fn of_scores(&self, scores: &[f32], labels: &Labels) -> (f64, Vec<f32>) {
        let owners = labels.owners();
        let wanted = margins(labels);
        let count = wanted.len() as f64;
        let mut at_scores = vec![0.0; scores.len()];
        let mut sum = 0.0;
        for ((negative, owner), wanted) in owners.iter().enumerate().skip(labels.pairs()).zip(wanted) {
            let owner = *owner as usize;
            let off = f64::from(scores[owner]) - f64::from(scores[negative]) - wanted;
            sum += off * off;
            at_scores[owner] += (2.0 * off / count) as f32;
            at_scores[negative] -= (2.0 * off / count) as f32;
        }
        (sum / count, at_scores)
    }
}

/// The teacher's margins, one for each hard negative. Labels are checked before: all have scores.
fn margins(labels: &Labels) -> Vec<f64> {
    let score = |document: usize| f64::from(labels.scores()[document].unwrap_or_default());
    let negatives = labels.owners().iter().enumerate().skip(labels.pairs());
    negatives.map(|(negative, owner)| score(*owner as usize) - score(negative)).collect()
}
