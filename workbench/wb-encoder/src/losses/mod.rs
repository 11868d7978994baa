//! The choice among losses: how the scores of a batch become one number to lower.

pub mod blocked;
pub mod cosent;
pub mod distill_kl;
pub mod gist;
pub mod labels;
pub mod loss;
pub mod margin_mse;
pub mod matryoshka;
pub mod mnrl;
pub mod mnrl_config;
pub mod on_embeddings;
pub mod sides;
mod softmax;
mod token_sides;
pub mod triplet;

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod token_tests;

use serde::{Deserialize, Serialize};

pub use blocked::Blocked;
pub use cosent::CosentConfig;
pub use distill_kl::DistillKlConfig;
pub use gist::{GistConfig, Margin};
pub use labels::{GuideEmbeddings, Labels, PairLabels};
pub use loss::{Loss, Needs};
pub use margin_mse::MarginMseConfig;
pub use matryoshka::MatryoshkaConfig;
pub use mnrl::Mnrl;
pub use mnrl_config::{Direction, Hardness, MnrlConfig, Partition};
pub use on_embeddings::{LossGradients, LossOnEmbeddings};
pub use sides::{Block, HostSides, TensorCompare, TensorSides};
pub use triplet::{TripletConfig, TripletDistance};

use crate::similarities::{Similarity, SimilarityConfig};

/// Which loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossConfig {
    /// Multiple Negatives Ranking Loss.
    Mnrl(MnrlConfig),
    /// Multiple negatives ranking without the negatives that a guide takes for answers.
    Gist(GistConfig),
    /// The positive closer than each hard negative.
    Triplet(TripletConfig),
    /// A teacher's differences of scores.
    MarginMse(MarginMseConfig),
    /// A teacher's choice among the documents of a pair.
    DistillKl(DistillKlConfig),
    /// Scored pairs in the right order.
    Cosent(CosentConfig),
    /// Another loss on the first numbers of each embedding too.
    Matryoshka(MatryoshkaConfig),
}

impl Default for LossConfig {
    fn default() -> Self {
        Self::Mnrl(MnrlConfig::default())
    }
}

impl LossConfig {
    /// The loss at one length of embeddings, ready to use; [`LossOnEmbeddings`] is the whole of it.
    pub fn init(&self) -> Box<dyn Loss> {
        match self {
            Self::Mnrl(config) => Box::new(config.init()),
            Self::Gist(config) => Box::new(config.init()),
            Self::Triplet(config) => Box::new(config.init()),
            Self::MarginMse(config) => Box::new(config.init()),
            Self::DistillKl(config) => Box::new(config.init()),
            Self::Cosent(config) => Box::new(config.init()),
            Self::Matryoshka(config) => config.loss.init(),
        }
    }

    /// What it compares embeddings by: a distance of its own, or the given similarity.
    pub fn similarity(&self, given: SimilarityConfig) -> Box<dyn Similarity> {
        match self {
            Self::Matryoshka(config) => config.loss.similarity(given),
            Self::Triplet(config) => config.similarity(),
            Self::Mnrl(_) | Self::Gist(_) | Self::MarginMse(_) | Self::DistillKl(_) | Self::Cosent(_) => given.init(),
        }
    }

    /// The same loss with what suits a similarity where nothing was given: sums over tokens are multiplied by 1 and not
    /// by 20 before a softmax, as in sentence-transformers and PyLate.
    #[must_use]
    pub fn suited(&self, similarity: SimilarityConfig) -> Self {
        match self {
            Self::Mnrl(MnrlConfig { scale: None, temperature: None, .. }) if similarity.of_tokens().is_some() => {
                self.with_scale(1.0).unwrap_or_else(|| self.clone())
            }
            _ => self.clone(),
        }
    }

    /// Refuses a similarity that the loss cannot be computed with.
    pub fn check_similarity(&self, key: &str, similarity: SimilarityConfig) -> wb_core::Result<()> {
        if similarity.of_tokens().is_none() {
            return Ok(());
        }
        let (name, reason) = match self {
            Self::Triplet(_) => ("triplet", "has a distance of its own between two vectors"),
            Self::Matryoshka(_) => ("matryoshka", "shortens one vector a text"),
            Self::Mnrl(_) | Self::Gist(_) | Self::MarginMse(_) | Self::DistillKl(_) | Self::Cosent(_) => return Ok(()),
        };
        let message = format!("`{name}` {reason}, and `train.similarity` compares texts token by token");
        Err(wb_core::Error::value(key, message).with_hint("mnrl, gist, margin_mse, distill_kl and cosent can"))
    }

    /// What the data must have for it.
    pub fn needs(&self) -> Needs {
        self.init().needs()
    }

    /// The encoder that has to embed the texts too, where the loss asks one.
    pub fn guide(&self) -> Option<&wb_core::EncoderRef> {
        match self {
            Self::Gist(config) => Some(&config.guide),
            Self::Matryoshka(config) => config.loss.guide(),
            Self::Mnrl(_) | Self::Triplet(_) | Self::MarginMse(_) | Self::DistillKl(_) | Self::Cosent(_) => None,
        }
    }

    /// What scores are multiplied by before a softmax, where the loss has such a number: the inverse of a temperature.
    pub fn scale(&self) -> Option<f64> {
        match self {
            Self::Mnrl(config) => Some(config.scale()),
            Self::Gist(config) => Some(config.temperature.recip()),
            Self::DistillKl(config) => Some(config.init().student.recip()),
            Self::Cosent(config) => Some(config.scale),
            Self::Matryoshka(config) => config.loss.scale(),
            Self::Triplet(_) | Self::MarginMse(_) => None,
        }
    }

    /// The same loss with another scale; nothing where it has no such number. A teacher's temperature stays.
    pub fn with_scale(&self, scale: f64) -> Option<Self> {
        match self {
            Self::Mnrl(config) => Some(Self::Mnrl(config.with_scale(scale))),
            Self::Gist(config) => Some(Self::Gist(GistConfig { temperature: scale.recip(), ..config.clone() })),
            Self::DistillKl(config) => {
                Some(Self::DistillKl(DistillKlConfig { student_temperature: Some(scale.recip()), ..config.clone() }))
            }
            Self::Cosent(_) => Some(Self::Cosent(CosentConfig { scale })),
            Self::Matryoshka(config) => {
                let loss = Box::new(config.loss.with_scale(scale)?);
                Some(Self::Matryoshka(MatryoshkaConfig { loss, ..config.clone() }))
            }
            Self::Triplet(_) | Self::MarginMse(_) => None,
        }
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        match self {
            Self::Mnrl(config) => config.validate(&format!("{key}.mnrl")),
            Self::Gist(config) => config.validate(&format!("{key}.gist")),
            Self::Triplet(config) => config.validate(&format!("{key}.triplet")),
            Self::MarginMse(_) => Ok(()),
            Self::DistillKl(config) => config.validate(&format!("{key}.distill_kl")),
            Self::Cosent(config) => config.validate(&format!("{key}.cosent")),
            Self::Matryoshka(config) => config.validate(&format!("{key}.matryoshka")),
        }
    }
}
