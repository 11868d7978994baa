//! Settings of a token index and of searches in it.

use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};

/// Codes of centroids are 16 bits wide.
pub(super) const MOST_CENTROIDS: usize = 1 << 16;

/// Settings that decide the size and the faithfulness of a compressed index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenIndexConfig {
    /// Bits that each number of a residual keeps: 1, 2, 4 or 8.
    pub bits: u8,
    /// Number of centroids; 0 for the power of two at or below 16 √tokens, as PLAID has it (Santhanam et al. 2022).
    pub centroids: usize,
    /// Rounds of k-means.
    pub iterations: usize,
}

impl Default for TokenIndexConfig {
    fn default() -> Self {
        Self { bits: 2, centroids: 0, iterations: 4 }
    }
}

impl TokenIndexConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        if ![1, 2, 4, 8].contains(&self.bits) {
            return Err(Error::value(format!("{key}.bits"), format!("got {}, expected 1, 2, 4 or 8", self.bits)));
        }
        if self.centroids > MOST_CENTROIDS {
            let message = format!("got {}, expected at most {MOST_CENTROIDS}", self.centroids);
            return Err(Error::value(format!("{key}.centroids"), message));
        }
        Ok(())
    }

    /// The number of centroids for so many tokens, of which so many are in the sample that centroids are learned from.
    pub fn centroids_for(&self, tokens: usize, sample: usize) -> usize {
        let wanted = match self.centroids {
            0 => {
                let root = (16.0 * (tokens as f64).sqrt()).max(1.0);
                1usize << (root.log2().floor() as u32)
            }
            given => given,
        };
        wanted.clamp(1, MOST_CENTROIDS.min(sample.max(1)))
    }
}

/// Way of searching a compressed index.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenIndexSearch {
    /// XTR (Lee et al. 2023): every query token fetches its best document tokens; a document that a query token did
    /// not fetch counts with that query token's last score.
    Xtr(XtrSearch),
    /// PLAID (Santhanam et al. 2022): documents of the nearest centroids, ranked by centroids alone, the best of them
    /// by MaxSim on the decompressed vectors.
    Plaid(PlaidSearch),
}

impl Default for TokenIndexSearch {
    fn default() -> Self {
        Self::Plaid(PlaidSearch::default())
    }
}

/// The two numbers of XTR's retrieval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XtrSearch {
    /// Document tokens that each query token fetches, k′.
    pub tokens: usize,
    /// Centroids whose tokens are looked at, for each query token.
    pub probes: usize,
}

impl Default for XtrSearch {
    fn default() -> Self {
        Self { tokens: 1000, probes: 32 }
    }
}

/// The two numbers of PLAID's retrieval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlaidSearch {
    /// Centroids whose documents are candidates, for each query token.
    pub probes: usize,
    /// Candidates whose vectors are decompressed; at least as many as are asked for.
    pub candidates: usize,
}

impl Default for PlaidSearch {
    fn default() -> Self {
        Self { probes: 8, candidates: 256 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_centroids_by_hand() {
        let config = TokenIndexConfig::default();
        // 16 · √10,000 = 1,600; 16 · √12,800,000 = 57,243.
        assert_eq!(config.centroids_for(10_000, 10_000), 1024);
        assert_eq!(config.centroids_for(12_800_000, 1_000_000), 32_768);
        assert_eq!(config.centroids_for(12_800_000, 100), 100);
        assert_eq!(config.centroids_for(0, 0), 1);
        assert_eq!(TokenIndexConfig { centroids: 77, ..config }.centroids_for(10, 1000), 77);
        let refused = TokenIndexConfig { bits: 3, ..TokenIndexConfig::default() }.validate("index").unwrap_err();
        assert_eq!(refused.to_string(), "index.bits: got 3, expected 1, 2, 4 or 8");
    }
}
