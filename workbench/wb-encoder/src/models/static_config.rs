//! Sizes of a bag of token vectors.

use serde::{Deserialize, Serialize};

use crate::error::{Result, expect_value};

/// A bag of token vectors: a text's embedding is the weighted mean of its tokens' vectors.
///
/// A token with id `i` at place `p` of its text counts exp(`token_weights[i]` + `position_weights[bucket(p)]`) times;
/// weights that the model does not have are 0. With none at all this is the plain mean
/// (sentence-transformers' `StaticEmbedding`).
///
/// Weights: `embeddings.weight` `[vocab_size, dim]`, `token_weights` `[vocab_size]` where `weighted`,
/// `position_weights` `[positions]` where `positions` is not 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticConfig {
    /// Number of tokens.
    pub vocab_size: usize,
    /// Length of a vector.
    pub dim: usize,
    /// True where every token has a learned weight of its own.
    pub weighted: bool,
    /// Number of learned weights for places in a text: code says what it does in its first line.
    /// 0 for none; 48 reach to about the 500th token. See [`StaticConfig::bucket`].
    #[serde(default)]
    pub positions: usize,
}

impl StaticConfig {
    /// Refuses sizes that cannot be; `key` is what messages call them by.
    pub fn validate(&self, key: &str) -> Result<()> {
        expect_value(format!("{key}.vocab_size"), self.vocab_size, self.vocab_size > 0, "at least 1")?;
        expect_value(format!("{key}.dim"), self.dim, self.dim > 0, "at least 1")
    }

    /// Position weight of a place: ⌊8·log₂(1 + place / 8)⌋, finer at the beginning, and the last one for all beyond.
    pub fn bucket(&self, place: usize) -> usize {
        let bucket = (8.0 * (1.0 + place as f64 / 8.0).log2()).floor() as usize;
        bucket.min(self.positions.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_fine_at_the_beginning() {
        let config = StaticConfig { vocab_size: 1, dim: 1, weighted: false, positions: 48 };
        let of = |places: [usize; 8]| places.map(|place| config.bucket(place));
        // 8·log2(1 + 1/8) = 1.36, 8·log2(2) = 8, 8·log2(17) = 32.7, 8·log2(64) = 48
        assert_eq!(of([0, 1, 2, 8, 128, 504, 503, 100_000]), [0, 1, 2, 8, 32, 47, 47, 47]);
    }
}
