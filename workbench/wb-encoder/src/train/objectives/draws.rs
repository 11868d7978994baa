//! Draws on the tokens of a text, which depend on nothing but a seed, the text's place in its batch and the token.

use wb_core::seed::{GAMMA, mix64};

/// The draws on one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenDraws(u64);

impl TokenDraws {
    /// Draws on the text at a place of its batch.
    pub fn new(seed: u64, text: u64) -> Self {
        let of_seed = mix64(seed ^ mix64(0x5851_f42d_4c95_7f2c));
        Self(mix64(of_seed ^ mix64(text.wrapping_add(0x1405_7b7e_f767_814f))))
    }

    /// A number below 2^32 for a token; `which`, below 8, keeps several draws on one token apart.
    pub fn draw(self, token: usize, which: u64) -> u64 {
        mix64(self.0.wrapping_add((token as u64 * 8 + which).wrapping_mul(GAMMA))) >> 32
    }
}

/// The number below which so large a share of draws is.
pub fn limit(share: f64) -> u64 {
    (share * (1u64 << 32) as f64) as u64
}
