//! Two systems on the same questions, right or wrong: McNemar's test and intervals.

use rand_free::Draws;
use wb_core::Seed;

use super::{Error, Result};

/// An interval of a share or of a difference of shares.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What McNemar's test came to.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Mcnemar {
    /// Questions that only the first system has right.
    pub only_first: usize,
    /// Questions that only the second has right.
    pub only_second: usize,
    /// Questions on which both are alike.
    pub alike: usize,
    /// The two-sided p-value.
    pub p_value: f64,
}

/// McNemar's exact test (McNemar 1947; exact form as in Agresti, "Categorical Data Analysis"): if neither system is
/// better, each question on which they differ is as likely won by one as by the other, so that the wins of the first
/// are binomial with n = wins + losses and 1/2. p = min(1, 2 · P(X <= min(wins, losses))); 1 where they never differ.
///
/// # Errors
///
/// If the lists are not equally long.
pub fn mcnemar(first: &[bool], second: &[bool]) -> Result<Mcnemar> {
    same_length(first, second)?;
    let count = |wanted: (bool, bool)| first.iter().zip(second).filter(|(a, b)| (**a, **b) == wanted).count();
    let (only_first, only_second) = (count((true, false)), count((false, true)));
    let alike = first.len() - only_first - only_second;
    let p_value = binomial_two_sided(only_first.min(only_second), only_first + only_second);
    Ok(Mcnemar { only_first, only_second, alike, p_value })
}

/// min(1, 2 · P(X <= `least`)) for X binomial with `n` and 1/2; terms are summed by their logarithms.
fn binomial_two_sided(least: usize, n: usize) -> f64 {
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut sum = log_term.exp();
    for k in 1..=least {
        log_term += ((n + 1 - k) as f64 / k as f64).ln();
        sum += log_term.exp();
    }
    (2.0 * sum).min(1.0)
}

/// Wilson's score interval of a share (Wilson 1927), with `z` standard errors (1.96 for 95 %):
/// (p + z²/2n ± z·sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n). No questions give 0 to 1.
pub fn wilson(right: usize, all: usize, z: f64) -> Interval {
    if all == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, p) = (all as f64, right as f64 / all as f64);
    let middle = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    Interval { low: ((middle - half) / scale).max(0.0), high: ((middle + half) / scale).min(1.0) }
}

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
    //! Draws from a seed of their own, SplitMix64 (Steele, Lea and Flood 2014).

    pub struct Draws(u64);

    impl Draws {
        pub fn new(seed: u64) -> Self {
            Self(seed)
        }

        /// A number below `n`, by the high half of a product; its bias is below n / 2^64.
        pub fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            usize::try_from((u128::from(z) * n as u128) >> 64).unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-9, "{one} {other}");
    }

    #[test]
    fn exact_p_values() {
        // 2 · (1 + 10) / 2^10.
        close(binomial_two_sided(1, 10), 22.0 / 1024.0);
        // 2 · (1 + 5 + 10) / 2^5 is 1.
        close(binomial_two_sided(2, 5), 1.0);
        close(binomial_two_sided(0, 0), 1.0);
        close(binomial_two_sided(0, 6), 2.0 / 64.0);
        // Even counts are capped at 1.
        close(binomial_two_sided(5, 10), 1.0);
        assert!(binomial_two_sided(400, 2000) < 1e-100 && binomial_two_sided(400, 2000) > 0.0);
        let pairs = |only_first: usize, only_second: usize| {
            let first = [vec![true; only_first], vec![false; only_second], vec![true, false]].concat();
            let second = [vec![false; only_first], vec![true; only_second], vec![true, false]].concat();
            mcnemar(&first, &second).unwrap()
        };
        let test = pairs(1, 9);
        assert_eq!((test.only_first, test.only_second, test.alike), (1, 9, 2));
        close(test.p_value, 22.0 / 1024.0);
        close(pairs(9, 1).p_value, test.p_value);
        assert!(mcnemar(&[true], &[]).unwrap_err().to_string().contains("1 and 0 questions"));
    }

    #[test]
    fn intervals() {
        // p = 0.5, n = 4, z = 2: middle 0.5 + 0.5 = 1, half 2·sqrt(0.0625 + 0.0625) = 0.70710678, scale 2.
        let interval = wilson(2, 4, 2.0);
        close(interval.low, (1.0 - 0.5_f64.sqrt()) / 2.0);
        close(interval.high, (1.0 + 0.5_f64.sqrt()) / 2.0);
        // p = 0: from 0 to (z²/n) / (1 + z²/n).
        let none = wilson(0, 4, 2.0);
        close(none.low, 0.0);
        close(none.high, 0.5);
        assert_eq!(wilson(0, 0, 2.0), Interval { low: 0.0, high: 1.0 });
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
