//! The choice among indexes: document vectors, ready to be searched.

mod flat;
mod index;

use serde::{Deserialize, Serialize};
use wb_core::Embeddings;

pub(crate) use flat::search_rows;
pub use flat::{Flat, FlatConfig, LONGEST};
pub use index::Index;

use crate::Result;

/// Which index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum IndexConfig {
    /// Every document is compared with every query: exact.
    Flat(FlatConfig),
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self::Flat(FlatConfig::default())
    }
}

impl IndexConfig {
    /// Refuses settings that make no sense. There is none that can be set wrong yet.
    pub fn validate(&self, _key: &str) -> wb_core::Result<()> {
        match self {
            Self::Flat(FlatConfig {}) => Ok(()),
        }
    }

    /// Takes the documents.
    pub fn init(&self, documents: Embeddings) -> Result<Box<dyn Index + Send + Sync>> {
        match self {
            Self::Flat(config) => Ok(Box::new(config.init(documents)?)),
        }
    }
}
