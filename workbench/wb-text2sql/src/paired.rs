//! Two systems on the same questions, right or wrong: the interval of their difference.

use rand_free::Draws;
use wb_core::Seed;
pub use wb_core::statistics::{Interval, Mcnemar, mcnemar, wilson};

use crate::{Error, Result};

/// The bootstrap interval of the difference of two shares on the same questions, second minus first: questions are
/// drawn with replacement, `resamples` times, and the interval holds the middle `level` of the differences (Efron's
/// percentiles). Every resample has its own stream of the seed. No questions give 0 to 0.
///
/// # Errors
///
/// If the lists are not equally long, there are no resamples, or the level is not between 0 and 1.
pub fn bootstrap_difference(
    first: &[bool],
    second: &[bool],
    level: f64,
    resamples: usize,
    seed: Seed,
) -> Result<Interval> {
    same_length(first, second)?;
    let wrong = |key: &str, what: String| Error::Value { key: key.to_owned(), what };
    if resamples == 0 {
        return Err(wrong("resamples", "found 0, expected at least 1".to_owned()));
    }
    if !(level > 0.0 && level < 1.0) {
        return Err(wrong("level", format!("found {level}, expected a share between 0 and 1")));
    }
    if first.is_empty() {
        return Ok(Interval::default());
    }
    let differences: Vec<f64> =
        first.iter().zip(second).map(|(a, b)| f64::from(u8::from(*b)) - f64::from(u8::from(*a))).collect();
    let mut means: Vec<f64> = (0..resamples)
        .map(|at| {
            let mut draws = Draws::new(seed.number_at("paired bootstrap", at as u64));
            let sum: f64 = (0..differences.len()).map(|_| differences[draws.below(differences.len())]).sum();
            sum / differences.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * (resamples - 1) as f64).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the number of resamples"
        )]
        means[(place as usize).min(resamples - 1)]
    };
    Ok(Interval { low: at((1.0 - level) / 2.0), high: at((1.0 + level) / 2.0) })
}

fn same_length(first: &[bool], second: &[bool]) -> Result<()> {
    if first.len() == second.len() {
        return Ok(());
    }
    let what = format!("{} and {} questions, expected the same ones for both", first.len(), second.len());
    Err(Error::Value { key: "pairs".to_owned(), what })
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
        let all = bootstrap_difference(&first, &second, 0.95, 200, Seed(1)).unwrap();
        assert_eq!(all, Interval { low: 1.0, high: 1.0 });
        // 30 of 100 won, 10 lost: 0.2, with a standard error of sqrt(0.4 - 0.04) / 10 = 0.06.
        let first: Vec<bool> = (0..100).map(|at| at < 10).collect();
        let second: Vec<bool> = (0..100).map(|at| at >= 70).collect();
        let interval = bootstrap_difference(&first, &second, 0.95, 4000, Seed(2)).unwrap();
        assert!((interval.low - 0.0824).abs() < 0.02 && (interval.high - 0.3176).abs() < 0.02, "{interval:?}");
        assert!(bootstrap_difference(&first, &second, 1.0, 10, Seed(2)).is_err());
        assert!(bootstrap_difference(&first, &second, 0.9, 0, Seed(2)).is_err());
    }
}
