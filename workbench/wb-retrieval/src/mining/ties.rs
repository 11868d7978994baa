//! Ties at the cuts of mining: where scores are equal within rounding, another device may keep other documents.
//!
//! A score is a sum of some hundred products in 32 bits, and its last bits depend on the order in which a device adds
//! them. Documents come out the same on every device but for those that are counted here.

use serde::{Deserialize, Serialize};

/// Scores this near to each other, in shares of the greater one and of 1 at least, are taken to be equal: 16 units in
/// the last place of a number near 1, about what the sum of 384 products differs by when it is added in another order.
pub const ROUNDING: f32 = 1.0 / (1 << 20) as f32;

/// Cuts of one kind, and those of them that went through a tie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutTies {
    /// Cuts that were made: something was kept, and something was not.
    pub cuts: u64,
    /// Cuts whose two sides are equal within rounding.
    pub tied: u64,
    /// Candidates within rounding of a tied cut, on both of its sides.
    pub candidates: u64,
}

impl CutTies {
    /// Counts a cut of scores, best first, before place `at`.
    pub fn at(scores: impl Fn(usize) -> f32, n: usize, at: usize) -> Self {
        if at == 0 || at >= n {
            return Self::default();
        }
        let (last, first) = (scores(at - 1), scores(at));
        if !are_equal(last, first) {
            return Self { cuts: 1, ..Self::default() };
        }
        let kept = (0..at).rev().take_while(|place| are_equal(scores(*place), first)).count();
        let left_out = (at..n).take_while(|place| are_equal(scores(*place), last)).count();
        Self { cuts: 1, tied: 1, candidates: (kept + left_out) as u64 }
    }

    /// Adds others of the same kind.
    pub fn add(&mut self, other: &Self) {
        self.cuts += other.cuts;
        self.tied += other.tied;
        self.candidates += other.candidates;
    }
}

/// True where two scores are equal within rounding.
fn are_equal(a: f32, b: f32) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_by_hand() {
        let scores = [0.9f32, 0.5, 0.5, 0.5 - 4e-7, 0.5 - 1e-5, 0.1];
        let at = |place| {
            let CutTies { cuts, tied, candidates } = CutTies::at(|place| scores[place], scores.len(), place);
            (cuts, tied, candidates)
        };
        // Between 0.9 and 0.5; within the three that are equal; behind them; where nothing is left out.
        assert_eq!((at(1), at(2), at(3)), ((1, 0, 0), (1, 1, 3), (1, 1, 3)));
        assert_eq!((at(4), at(5)), ((1, 0, 0), (1, 0, 0)));
        assert_eq!((at(0), at(6), at(9)), ((0, 0, 0), (0, 0, 0), (0, 0, 0)));
        // Scores of words are larger, and so is their rounding.
        assert!(are_equal(20.0, 20.00001) && !are_equal(20.0, 20.0001) && !are_equal(f32::NAN, f32::NAN));
    }
}
