//! Matryoshka: a loss on the first numbers of each embedding too, so that embeddings can be cut.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{EncoderRef, Error, Result};

use super::{
    LossConfig,
    labels::Labels,
    loss::{Loss, Needs, WeightedDim},
    sides::BatchSides,
};
use crate::similarities::{Similarity, SimilarityConfig};

/// A loss on the first `d` numbers of each embedding, for several d.
///
/// Σ_d weight_d · loss(embeddings[.., ..d]), not divided by the weights. What is cut is brought to length 1 by the
/// cosine, and left as it is by the dot product and by distances.
///
/// Kusupati et al. 2022, "Matryoshka Representation Learning", arXiv 2205.13147. Equals sentence-transformers'
/// `MatryoshkaLoss` for the cosine; there, parts are brought to length 1 for every similarity. It can also draw some of
/// the lengths in each step, to save time; here, all of them together take a hundredth of a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["dims"]))]
pub struct MatryoshkaConfig {
    /// Lengths to which embeddings are cut, as in `[384, 192, 96]`, each at least 1 and at most the model's; the
    /// model's own should be among them.
    pub dims: Vec<usize>,
    /// Weights of the loss, one for each length; empty for 1 each.
    pub weights: Vec<f64>,
    /// The loss at each length.
    pub loss: Box<LossConfig>,
}

impl Loss for MatryoshkaConfig {
    fn needs(&self) -> Needs {
        self.loss.needs()
    }

    fn forward_backward(&self, sides: &mut BatchSides<'_>, labels: &Labels) -> f64 {
        self.loss.inner().forward_backward(sides, labels)
    }

    fn cuts(&self) -> Vec<WeightedDim> {
        let weight = |at: usize| self.weights.get(at).copied().unwrap_or(1.0);
        self.dims.iter().enumerate().map(|(at, dim)| WeightedDim { dim: *dim, weight: weight(at) }).collect()
    }

    fn similarity(&self, given: SimilarityConfig) -> Box<dyn Similarity> {
        self.loss.inner().similarity(given)
    }

    fn not_by_tokens(&self) -> Option<&'static str> {
        Some("`matryoshka` shortens one vector a text")
    }

    fn is_of_pairs(&self) -> bool {
        self.loss.inner().is_of_pairs()
    }

    fn guide(&self) -> Option<&EncoderRef> {
        self.loss.guide()
    }

    fn guide_key(&self) -> &'static str {
        self.loss.inner().guide_key()
    }

    fn scale(&self) -> Option<f64> {
        self.loss.scale()
    }

    fn with_scale(&self, scale: f64) -> Option<LossConfig> {
        let loss = Box::new(self.loss.with_scale(scale)?);
        Some(LossConfig::Matryoshka(Self { loss, ..self.clone() }))
    }

    fn validate(&self, key: &str) -> Result<()> {
        let refuse = |name: &str, message: String| Err(Error::value(format!("{key}.{name}"), message));
        if self.dims.is_empty() {
            let error = Error::value(format!("{key}.dims"), "got none, expected lengths of embeddings");
            return Err(error.with_hint("dims: [384, 192, 96]"));
        }
        for (at, dim) in self.dims.iter().enumerate() {
            if *dim == 0 {
                return refuse("dims", "got 0, expected at least 1".into());
            }
            if self.dims[..at].contains(dim) {
                return refuse("dims", format!("{dim} stands there twice"));
            }
        }
        if !self.weights.is_empty() && self.weights.len() != self.dims.len() {
            let message = format!("got {}, expected {}, one for each of `dims`", self.weights.len(), self.dims.len());
            return refuse("weights", message);
        }
        if let Some(weight) = self.weights.iter().find(|weight| !(weight.is_finite() && **weight > 0.0)) {
            return refuse("weights", format!("got {weight}, expected numbers above 0"));
        }
        if matches!(*self.loss, LossConfig::Matryoshka(_)) {
            return refuse("loss", "got `matryoshka` inside of `matryoshka`, expected another loss".into());
        }
        self.loss.validate(&format!("{key}.loss"))
    }
}
