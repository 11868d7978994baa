//! The choice among similarities: how two sides of embeddings become scores.

pub mod dense;
pub mod distance;
mod maxima;
pub mod product;
pub(crate) mod rows;
pub mod similarity;
pub mod tokens;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use dense::DenseSimilarity;
pub use distance::Distance;
pub use similarity::{Matrix, PreparedRows, SideGradients, Similarity};
pub use tokens::{Normalizer, TokenSimilarity, TokenTexts, XtrConfig};

/// Similarity of a query and a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SimilarityConfig {
    /// The cosine of two vectors, -1 to 1.
    #[default]
    Cosine,
    /// The dot product of two vectors.
    Dot,
    /// Late interaction: each query token's greatest cosine with a token of the document, summed.
    Maxsim,
    /// Late interaction as XTR trains: the mean over what each query token retrieves among all tokens of the batch.
    Xtr(XtrConfig),
}

impl SimilarityConfig {
    /// The similarity of two vectors, ready to use; the cosine where texts have one vector a token.
    pub fn init(self) -> Box<dyn Similarity> {
        match self {
            Self::Cosine | Self::Maxsim | Self::Xtr(_) => Box::new(DenseSimilarity::cosine()),
            Self::Dot => Box::new(DenseSimilarity::dot()),
        }
    }

    /// The similarity of texts of one vector a token, where it is one.
    pub fn of_tokens(self) -> Option<TokenSimilarity> {
        match self {
            Self::Cosine | Self::Dot => None,
            Self::Maxsim => Some(TokenSimilarity::Maxsim),
            Self::Xtr(config) => Some(TokenSimilarity::Xtr(config)),
        }
    }

    /// Refuses values that make no sense.
    pub fn validate(self, key: &str) -> wb_core::Result<()> {
        self.of_tokens().map_or(Ok(()), |similarity| similarity.validate(key))
    }
}
