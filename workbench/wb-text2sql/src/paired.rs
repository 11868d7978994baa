//! Two systems on the same questions, right or wrong: the interval of their difference.
//!
//! Its draws and percentiles are not those of [`wb_core::statistics`] (SplitMix64 and the nearest resample, not ChaCha and
//! interpolation), and stay so: with others the intervals of records that are there could not be made again.

use rand_free::Draws;
use wb_core::{Seed, statistics::Interval};

/// Number of resamples.
const RESAMPLES: usize = 2000;

/// The bootstrap interval of the difference of two shares on the same questions, second minus first: questions are
/// drawn with replacement, and the interval holds the middle 95 % of the differences (Efron's percentiles). Every
/// resample has its own stream of the seed. No questions give 0 to 0.
pub fn bootstrap_difference(first: &[bool], second: &[bool], seed: Seed) -> Interval {
    let differences: Vec<f64> =
        first.iter().zip(second).map(|(a, b)| f64::from(u8::from(*b)) - f64::from(u8::from(*a))).collect();
    if differences.is_empty() {
        return Interval::default();
    }
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|at| {
            let mut draws = Draws::new(seed.number_at("paired bootstrap", at as u64));
            let sum: f64 = (0..differences.len()).map(|_| differences[draws.below(differences.len())]).sum();
            sum / differences.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the number of resamples"
        )]
        means[(share * (RESAMPLES - 1) as f64).round() as usize]
    };
    Interval { low: at(0.025), high: at(0.975) }
}

mod rand_free {
    //! Draws from a seed of their own, SplitMix64's.

    use wb_core::seed::{GAMMA, split_mix64};

    pub struct Draws(u64);

    impl Draws {
        pub fn new(seed: u64) -> Self {
            Self(seed)
        }

        /// A number below `n`, by the high half of a product; its bias is below n / 2^64.
        pub fn below(&mut self, n: usize) -> usize {
            let z = split_mix64(self.0);
            self.0 = self.0.wrapping_add(GAMMA);
            usize::try_from((u128::from(z) * n as u128) >> 64).unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_a_difference() {
        let (first, second) = ([false; 40], [true; 40]);
        let all = bootstrap_difference(&first, &second, Seed(1));
        assert_eq!(all, Interval { low: 1.0, high: 1.0 });
        // 30 of 100 won, 10 lost: 0.2, with a standard error of sqrt(0.4 - 0.04) / 10 = 0.06.
        let first: Vec<bool> = (0..100).map(|at| at < 10).collect();
        let second: Vec<bool> = (0..100).map(|at| at >= 70).collect();
        let interval = bootstrap_difference(&first, &second, Seed(2));
        assert!((interval.low - 0.0824).abs() < 0.02 && (interval.high - 0.3176).abs() < 0.02, "{interval:?}");
    }
}
