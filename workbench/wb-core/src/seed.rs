//! One number, one random stream per purpose.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The seed of a run. Streams are named, so that drawing from one never moves another,
/// and they come from ChaCha8, whose output is fixed across releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Default for Seed {
    /// The seed of a run whose YAML names none.
    fn default() -> Self {
        Self(17)
    }
}

impl Seed {
    /// The stream of a purpose: `seed.stream("sampler")`.
    pub fn stream(self, purpose: &str) -> ChaCha8Rng {
        self.stream_at(purpose, 0)
    }

    /// The stream of a purpose at a counter (epoch, step), so that nothing has to be stored to resume.
    pub fn stream_at(self, purpose: &str, counter: u64) -> ChaCha8Rng {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0.to_le_bytes());
        hasher.update(&counter.to_le_bytes());
        hasher.update(purpose.as_bytes());
        ChaCha8Rng::from_seed(*hasher.finalize().as_bytes())
    }

    /// A number for libraries that want a `u64` seed.
    pub fn number_at(self, purpose: &str, counter: u64) -> u64 {
        self.stream_at(purpose, counter).random()
    }

    /// A permutation of `0..n`: Fisher–Yates from the top.
    pub fn permutation_at(self, purpose: &str, counter: u64, n: usize) -> Vec<usize> {
        let mut rng = self.stream_at(purpose, counter);
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
        order
    }
}

/// The step of SplitMix64 (Steele, Lea and Flood 2014): 2^64 over the golden ratio.
pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of SplitMix64: every bit of `x` moves every bit of the result, and 0 stays 0.
#[inline(always)]
pub fn mix64(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The next number of SplitMix64 after a state; the state after it is [`GAMMA`] more.
#[inline(always)]
pub fn split_mix64(state: u64) -> u64 {
    mix64(state.wrapping_add(GAMMA))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed_and_apart() {
        let seed = Seed(17);
        let draw = |purpose: &str, at| seed.number_at(purpose, at);
        assert_eq!(draw("sampler", 0), draw("sampler", 0));
        assert_ne!(draw("sampler", 0), draw("mask", 0));
        assert_ne!(draw("sampler", 0), draw("sampler", 1));
        assert_ne!(draw("sampler", 0), Seed(18).number_at("sampler", 0));
    }

    #[test]
    fn split_mix64_draws_what_its_authors_published() {
        // The first numbers of java.util.SplittableRandom's mix from the state 0.
        let drawn: Vec<u64> = (0..3).map(|at| split_mix64(GAMMA.wrapping_mul(at))).collect();
        assert_eq!(drawn, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        assert_eq!(mix64(0), 0);
    }

    #[test]
    fn a_permutation_holds_everything_once() {
        let mut order = Seed(3).permutation_at("sampler", 5, 100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
