//! The choice among losses: how the scores of a batch become one number to lower.

pub mod angle;
pub mod binary_cross_entropy;
pub mod blocked;
pub mod cosent;
pub mod distill_embeddings;
pub mod distill_kl;
pub mod gist;
pub mod labels;
pub mod list_net;
pub mod loss;
pub mod margin_mse;
pub mod matryoshka;
pub mod mnrl;
pub mod on_embeddings;
pub mod relevance;
pub mod sides;
mod softmax;
pub mod triplet;

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod token_tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use angle::AngleConfig;
pub use binary_cross_entropy::BinaryCrossEntropyConfig;
pub use blocked::Blocked;
pub use cosent::CosentConfig;
pub use distill_embeddings::{DistillEmbeddingsConfig, EmbeddingDistance};
pub use distill_kl::DistillKlConfig;
pub use gist::{GistConfig, Margin};
pub use labels::{GuideEmbeddings, Labels, PairLabels};
pub use list_net::ListNetConfig;
pub use loss::{Loss, Needs, OwnScoresLoss};
pub use margin_mse::MarginMseConfig;
pub use matryoshka::MatryoshkaConfig;
pub use mnrl::{Direction, Hardness, MnrlConfig, Partition};
pub use on_embeddings::{LossGradients, LossOnEmbeddings};
pub use relevance::Relevance;
pub use sides::{BatchSides, Block};
pub use triplet::{TripletConfig, TripletDistance};

use crate::similarities::SimilarityConfig;

/// A loss with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossConfig {
    /// Multiple Negatives Ranking Loss: each anchor picks its own positive among all documents of the batch, hard
    /// negatives included.
    Mnrl(MnrlConfig),
    /// Multiple Negatives Ranking Loss without the candidates that a second encoder, the guide, takes for answers.
    Gist(GistConfig),
    /// Each positive closer than its hard negatives, by a margin. Needs hard negatives.
    Triplet(TripletConfig),
    /// A teacher's margins between the positive and each hard negative. Needs hard negatives and scores.
    MarginMse(MarginMseConfig),
    /// A teacher's choice among the documents of a pair: which of them answers its anchor best. Needs hard negatives
    /// and scores.
    DistillKl(DistillKlConfig),
    /// A teacher's vector of every text, whether it belongs to a pair or not.
    DistillEmbeddings(DistillEmbeddingsConfig),
    /// Scored pairs in the order of their scores. Needs scores.
    Cosent(CosentConfig),
    /// Scored pairs in the order of their scores, by the angle between vectors of complex numbers in place of
    /// `train.similarity`. Needs scores.
    Angle(AngleConfig),
    /// Each document of a pair relevant or not, by a cross-encoder.
    BinaryCrossEntropy(BinaryCrossEntropyConfig),
    /// The positive among its pair's documents, or a teacher's choice among them, by a cross-encoder. Needs hard
    /// negatives.
    ListNet(ListNetConfig),
    /// Another loss on the first numbers of each embedding too.
    Matryoshka(MatryoshkaConfig),
}

impl Default for LossConfig {
    fn default() -> Self {
        Self::Mnrl(MnrlConfig::default())
    }
}

impl LossConfig {
    /// The config inside: what the loss is and what it needs.
    pub fn inner(&self) -> &dyn Loss {
        match self {
            Self::Mnrl(config) => config,
            Self::Gist(config) => config,
            Self::Triplet(config) => config,
            Self::MarginMse(config) => config,
            Self::DistillKl(config) => config,
            Self::DistillEmbeddings(config) => config,
            Self::Cosent(config) => config,
            Self::Angle(config) => config,
            Self::BinaryCrossEntropy(config) => config,
            Self::ListNet(config) => config,
            Self::Matryoshka(config) => config,
        }
    }

    /// The loss's name in YAML.
    fn name(&self) -> String {
        let json = serde_json::to_value(self).unwrap_or_default();
        json.as_object().and_then(|map| map.keys().next().cloned()).unwrap_or_default()
    }

    /// Fills in what suits a similarity where nothing was given.
    #[must_use]
    pub fn suited(&self, similarity: SimilarityConfig) -> Self {
        self.inner().suited(similarity).unwrap_or_else(|| self.clone())
    }

    /// Refuses a similarity that the loss cannot be computed with.
    pub fn check_similarity(&self, key: &str, similarity: SimilarityConfig) -> wb_core::Result<()> {
        match self.inner().not_by_tokens() {
            Some(reason) if similarity.of_tokens().is_some() => {
                let message = format!("{reason}, and `train.similarity` compares texts token by token");
                Err(wb_core::Error::value(key, message).with_hint("loss: { mnrl: {} }"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a loss that does not train a cross-encoder, or one that trains nothing else.
    pub fn check_pair_reading(&self, key: &str, reads_pairs: bool) -> wb_core::Result<()> {
        let (message, hint) = match (reads_pairs, self.inner().on_own_scores().is_some(), self.inner().is_of_pairs()) {
            (true, false, _) => (
                format!("`{}` compares embeddings, and a cross-encoder gives a score for two texts", self.name()),
                "loss: { binary_cross_entropy: {} }, { list_net: {} } or, from a teacher's scores, { margin_mse: {} }",
            ),
            (false, _, true) => (
                format!("`{}` takes a cross-encoder's numbers, not cosines", self.name()),
                "encoder.cross_encoder={}, or loss: { mnrl: {} }",
            ),
            _ => return Ok(()),
        };
        Err(wb_core::Error::value(key, message).with_hint(hint))
    }

    /// Demands that the loss makes on the data.
    pub fn needs(&self) -> Needs {
        self.inner().needs()
    }

    /// The encoder that has to embed the texts too, where the loss asks one.
    pub fn guide(&self) -> Option<&wb_core::EncoderRef> {
        self.inner().guide()
    }

    /// The key that names this encoder, and what it is called: `guide` or `teacher`.
    pub fn guide_key(&self) -> &'static str {
        self.inner().guide_key()
    }

    /// True where the vectors of the guide are compared with the model's own, and have to be in the order of their principal
    /// components: the loss also compares their first numbers alone.
    pub fn orders_guide(&self) -> bool {
        self.needs().guide_dim && self.inner().cuts().iter().any(|cut| cut.dim != usize::MAX)
    }

    /// The number that scores are multiplied by before a softmax, where the loss has one.
    pub fn scale(&self) -> Option<f64> {
        self.inner().scale()
    }

    /// The loss with another scale; nothing where it has no such number.
    pub fn with_scale(&self, scale: f64) -> Option<Self> {
        self.inner().with_scale(scale)
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.inner().validate(&format!("{key}.{}", self.name()))
    }
}
