//! The choice among similarities: how two sides of embeddings become scores.

pub mod dense;
pub mod distance;
pub mod product;
pub(crate) mod rows;
pub mod similarity;

use serde::{Deserialize, Serialize};

pub use dense::Dense;
pub use distance::Distance;
pub use similarity::{Prepared, Similarity};

/// Which similarity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SimilarityConfig {
    /// The cosine of two vectors, -1 to 1.
    #[default]
    Cosine,
    /// The dot product of two vectors.
    Dot,
}

impl SimilarityConfig {
    /// The similarity, ready to use.
    pub fn init(self) -> Box<dyn Similarity> {
        match self {
            Self::Cosine => Box::new(Dense::cosine()),
            Self::Dot => Box::new(Dense::dot()),
        }
    }
}
