//! Sizes of a bag of token vectors.

use serde::{Deserialize, Serialize};

/// A bag of token vectors: a text's embedding is the weighted mean of its tokens' vectors.
///
/// Weights: `embeddings.weight` `[vocab_size, dim]`, and `token_weights` `[vocab_size]` where `weighted` is true:
/// a token counts exp(`token_weights`) times. With all `token_weights` at 0 this is the plain mean
/// (sentence-transformers' `StaticEmbedding`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticConfig {
    /// Number of tokens.
    pub vocab_size: usize,
    /// Length of a vector.
    pub dim: usize,
    /// Whether every token has a learned weight of its own.
    pub weighted: bool,
}
