//! Triplet loss: the positive closer than each hard negative, by a margin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Result;

use super::{
    labels::Labels,
    loss::{Loss, Needs},
    mnrl::positive,
    sides::BatchSides,
};
use crate::similarities::{DenseSimilarity, Distance, Similarity, SimilarityConfig};

/// Triplet loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TripletConfig {
    /// `cosine` (1 − the cosine), `euclidean` or `manhattan`; takes the place of `train.similarity`.
    pub distance: TripletDistance,
    /// Distance by which the positive has to be closer. 5 suits the euclidean distance of embeddings that are not
    /// normalized.
    pub margin: f64,
}

/// Distance of two embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TripletDistance {
    /// 1 − the cosine, 0 to 2.
    #[default]
    Cosine,
    /// ‖a − b‖₂.
    Euclidean,
    /// Σ|a − b|.
    Manhattan,
}

impl Default for TripletConfig {
    fn default() -> Self {
        Self { distance: TripletDistance::default(), margin: 0.2 }
    }
}

/// Triplet loss of a batch.
///
/// With d = −s (and 1 − s for the cosine): mean over all hard negatives `n` of the batch, each with the anchor `a` and
/// the positive `p` of its pair, of max(0, d(a, p) − d(a, n) + margin). A pair with more negatives counts more.
///
/// # Shapes
/// One score a document, `[D]`, D − B of them of hard negatives.
///
/// Hermans et al. 2017, arXiv 1703.07737. Equals sentence-transformers' `TripletLoss` on the triplets that pairs of
/// several negatives unfold into; its defaults are the euclidean distance and a margin of 5.
impl Loss for TripletConfig {
    fn needs(&self) -> Needs {
        Needs { loss: "triplet", negatives: true, ..Needs::default() }
    }

    fn forward_backward(&self, sides: &mut BatchSides<'_>, labels: &Labels) -> f64 {
        let owners = labels.owners();
        let scores = sides.own_scores(owners);
        let count = (owners.len() - labels.pairs()) as f64;
        let mut at_scores = vec![0.0; scores.len()];
        let mut sum = 0.0;
        for (negative, owner) in owners.iter().enumerate().skip(labels.pairs()) {
            let owner = *owner as usize;
            let short = self.margin + f64::from(scores[negative]) - f64::from(scores[owner]);
            if short > 0.0 {
                sum += short;
                at_scores[negative] += (1.0 / count) as f32;
                at_scores[owner] -= (1.0 / count) as f32;
            }
        }
        sides.add_own_gradient(owners, &at_scores);
        sum / count
    }

    fn similarity(&self, _given: SimilarityConfig) -> Box<dyn Similarity> {
        match self.distance {
            TripletDistance::Cosine => Box::new(DenseSimilarity::cosine()),
            TripletDistance::Euclidean => Box::new(Distance::Euclidean),
            TripletDistance::Manhattan => Box::new(Distance::Manhattan),
        }
    }

    fn not_by_tokens(&self) -> Option<&'static str> {
        Some("`triplet` has a distance of its own between two vectors")
    }

    fn validate(&self, key: &str) -> Result<()> {
        let hint = "0.2 suits the cosine, 5 the euclidean distance of embeddings that are not normalized";
        positive(&format!("{key}.margin"), Some(self.margin), hint)
    }
}
