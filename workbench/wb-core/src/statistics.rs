//! Share of luck with the queries in a number: intervals, and paired tests of two systems.
//!
//! Values are per query: numbers (reciprocal ranks, nDCG), or right and wrong; what is judged is their mean. All draws
//! come from named streams of one seed, one for each resample, so results do not depend on the number of threads.

use std::fmt;

use rand::{Rng, RngExt};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, Seed};

/// Resamples unless told otherwise. The ends of a 95 % interval then stand on about 25 resamples each.
pub const RESAMPLES: usize = 1000;
/// Sign flips unless told otherwise; the least p-value that can come out is 1 / (this + 1).
pub const PERMUTATIONS: usize = 9999;

/// An interval of a mean, of a share, or of a difference of two.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl fmt::Display for Interval {
    /// Writes both ends with the sign and the precision that are asked for: `[0.48, 0.51]`, `[+0.1118, +0.1420]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        fmt::Display::fmt(&self.low, f)?;
        f.write_str(", ")?;
        fmt::Display::fmt(&self.high, f)?;
        f.write_str("]")
    }
}

/// The bootstrap interval of the mean (Efron's percentiles): queries are drawn with replacement, as many as there are,
/// and the interval holds the middle `level` of the means. No values give 0 to 0, one value gives itself twice.
pub fn bootstrap_interval(values: &[f64], level: f64, resamples: usize, seed: Seed) -> Interval {
    let means = bootstrap_means(values, resamples, seed);
    percentiles(means, level).unwrap_or_else(|| {
        let mean = mean(values);
        Interval { low: mean, high: mean }
    })
}

/// Result of a comparison of two systems on the same queries.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// Mean of the first minus mean of the second.
    pub difference: f64,
    /// The interval of the difference, from [`bootstrap_interval`] of the differences.
    #[serde(flatten)]
    pub interval: Interval,
    /// Two-sided p-value of [`permutation_test`].
    pub p_value: f64,
    /// Queries on which the first is better, equal, worse.
    pub wins_ties_losses: [usize; 3],
}

/// Compares two systems on the same queries: the difference of means with its 95 % interval, and a p-value.
pub fn compare(a: &[f64], b: &[f64], seed: Seed) -> Result<Comparison> {
    let differences = differences(a, b)?;
    let ties = differences.iter().filter(|d| **d == 0.0).count();
    let wins = differences.iter().filter(|d| **d > 0.0).count();
    Ok(Comparison {
        difference: mean(&differences),
        interval: bootstrap_interval(&differences, 0.95, RESAMPLES, seed),
        p_value: permutation_test(&differences, PERMUTATIONS, seed),
        wins_ties_losses: [wins, ties, differences.len() - wins - ties],
    })
}

/// Query by query, `a` minus `b`.
pub fn differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    if a.len() != b.len() {
        let message = format!("{} and {} given, expected the same", a.len(), b.len());
        return Err(Error::data("queries of two systems", message));
    }
    Ok(a.iter().zip(b).map(|(a, b)| a - b).collect())
}

/// The paired permutation test (Fisher's randomization test, as Smucker, Allan and Carterette 2007 recommend it for
/// retrieval): under the null hypothesis the two systems' values of a query could as well be exchanged, so each
/// difference takes either sign with equal probability. The two-sided p-value is the share of sign assignments whose
/// mean is at least as far from 0 as the one seen: of all of them where that are no more than `permutations`, else of
/// a sample to which the assignment seen is added.
pub fn permutation_test(differences: &[f64], permutations: usize, seed: Seed) -> f64 {
    // A difference of 0 has no sign.
    let differences: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let n = differences.len();
    if n == 0 {
        return 1.0;
    }
    let sum: f64 = differences.iter().sum();
    // Sums of the same numbers in another order must count as equal.
    let enough = sum.abs() - 1e-9 * differences.iter().map(|d| d.abs()).sum::<f64>();
    let as_far = |signs: &mut dyn FnMut() -> u64| {
        let mut flipped = 0.0;
        for differences in differences.chunks(64) {
            let signs = signs();
            flipped += signed_sum(differences, signs);
        }
        flipped.abs() >= enough
    };
    if n < 63 && 1usize << n <= permutations {
        let all = 1u64 << n;
        let far = (0..all).into_par_iter().filter(|signs| as_far(&mut || *signs)).count();
        return far as f64 / all as f64;
    }
    let far = (0..permutations as u64)
        .into_par_iter()
        .filter(|index| {
            let mut rng = seed.stream_at("permutation", *index);
            as_far(&mut || rng.next_u64())
        })
        .count();
    (far + 1) as f64 / (permutations + 1) as f64
}

/// The paired bootstrap test: the share of resamples whose mean difference is at least as far from the mean seen as
/// the mean seen is from 0 (two-sided, the resample seen added). Close to [`permutation_test`] for many queries and
/// less exact for few.
pub fn bootstrap_test(differences: &[f64], resamples: usize, seed: Seed) -> f64 {
    let seen = mean(differences);
    if differences.iter().all(|d| *d == 0.0) {
        return 1.0;
    }
    let far =
        bootstrap_means(differences, resamples, seed).iter().filter(|mean| (*mean - seen).abs() >= seen.abs()).count();
    (far + 1) as f64 / (resamples + 1) as f64
}

/// Result of McNemar's test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
/// Lists that are not equally long are an error.
pub fn mcnemar(first: &[bool], second: &[bool]) -> Result<Mcnemar> {
    if first.len() != second.len() {
        let message = format!("{} and {} questions, expected the same ones for both", first.len(), second.len());
        return Err(Error::value("pairs", message));
    }
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
    // Where none or all are right, an end is exact, and rounding must not move it.
    let low = if right == 0 { 0.0 } else { ((middle - half) / scale).max(0.0) };
    let high = if right == all { 1.0 } else { ((middle + half) / scale).min(1.0) };
    Interval { low, high }
}

/// The differences' sum where those with a set bit change sign.
fn signed_sum(differences: &[f64], signs: u64) -> f64 {
    let flip = |(index, d): (u64, &f64)| f64::from_bits(d.to_bits() ^ ((signs >> index & 1) << 63));
    (0..).zip(differences).map(flip).sum()
}

fn bootstrap_means(values: &[f64], resamples: usize, seed: Seed) -> Vec<f64> {
    let n = values.len();
    if n == 0 {
        return Vec::new();
    }
    let resample = |index: usize| {
        let mut rng = seed.stream_at("bootstrap", index as u64);
        let sum: f64 = (0..n).map(|_| values[rng.random_range(0..n)]).sum();
        sum / n as f64
    };
    (0..resamples).into_par_iter().map(resample).collect()
}

/// The area under the receiver operating characteristic: the share of pairs, one of each kind, in which the positive has
/// the greater score, ties for a half; with the bootstrap interval for which both kinds are drawn anew. Nothing where one
/// kind is missing.
///
/// Source: Hanley and McNeil, The meaning and use of the area under a ROC curve (Radiology, 1982).
pub fn auroc(positive: &[f64], negative: &[f64], level: f64, resamples: usize, seed: Seed) -> Option<(f64, Interval)> {
    if positive.is_empty() || negative.is_empty() {
        return None;
    }
    let area = |positive: &[f64], negative: &[f64]| {
        let wins = |one: &f64| {
            let win = |other: &f64| if one > other { 1.0 } else { f64::from(u8::from(one == other)) / 2.0 };
            negative.iter().map(win).sum::<f64>()
        };
        positive.iter().map(wins).sum::<f64>() / (positive.len() * negative.len()) as f64
    };
    let resample = |at: usize| {
        let mut rng = seed.stream_at("area", at as u64);
        let mut drawn = |values: &[f64]| -> Vec<f64> {
            (0..values.len()).map(|_| values[rng.random_range(0..values.len())]).collect()
        };
        area(&drawn(positive), &drawn(negative))
    };
    let areas: Vec<f64> = (0..resamples).into_par_iter().map(resample).collect();
    let value = area(positive, negative);
    Some((value, percentiles(areas, level).unwrap_or(Interval { low: value, high: value })))
}

/// The quantile of ascending numbers, between two of them by linear interpolation, as NumPy and PyTorch have it; nothing
/// of none.
pub fn quantile<T: Copy + Into<f64>>(ascending: &[T], share: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let place = share * last as f64;
    let below: f64 = ascending[place as usize].into();
    let above: f64 = ascending[(place as usize + 1).min(last)].into();
    Some(below + (above - below) * place.fract())
}

/// The middle `level` of some numbers.
fn percentiles(mut numbers: Vec<f64>, level: f64) -> Option<Interval> {
    numbers.sort_by(f64::total_cmp);
    let low = quantile(&numbers, (1.0 - level) / 2.0)?;
    Some(Interval { low, high: quantile(&numbers, (1.0 + level) / 2.0)? })
}

/// The mean; 0 of no values.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences of two systems that are equally good: reciprocal ranks of random ranks.
    fn random_reciprocal_ranks(n: usize, seed: u64, purpose: &str) -> Vec<f64> {
        let mut rng = Seed(seed).stream(purpose);
        (0..n).map(|_| 1.0 / f64::from(rng.random_range(1..20))).collect()
    }

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
    fn wilson_by_hand() {
        // p = 0.5, n = 4, z = 2: middle 0.5 + 0.5 = 1, half 2·sqrt(0.0625 + 0.0625) = 0.70710678, scale 2.
        let interval = wilson(2, 4, 2.0);
        close(interval.low, (1.0 - 0.5_f64.sqrt()) / 2.0);
        close(interval.high, (1.0 + 0.5_f64.sqrt()) / 2.0);
        // p = 0: from 0 to (z²/n) / (1 + z²/n).
        let none = wilson(0, 4, 2.0);
        close(none.low, 0.0);
        close(none.high, 0.5);
        assert_eq!((format!("{none:.2}"), format!("{none:+.1}")), ("[0.00, 0.50]".into(), "[+0.0, +0.5]".into()));
        assert_eq!(wilson(0, 0, 2.0), Interval { low: 0.0, high: 1.0 });
    }

    #[test]
    fn areas_by_hand() {
        // Of six pairs four are won and one is a tie.
        let (area, interval) = auroc(&[0.9, 0.4, 0.7], &[0.4, 0.5], 0.95, 500, Seed(1)).unwrap();
        close(area, 4.5 / 6.0);
        assert!(interval.low < area && area < interval.high, "{interval:?}");
        let (area, interval) = auroc(&[1.0, 2.0], &[0.0], 0.95, 100, Seed(1)).unwrap();
        assert_eq!((area, interval), (1.0, Interval { low: 1.0, high: 1.0 }));
        assert!(auroc(&[], &[0.1], 0.95, 100, Seed(1)).is_none());
    }

    #[test]
    fn percentiles_by_hand() {
        let numbers: Vec<f64> = (0..=1000).rev().map(f64::from).collect();
        let interval = percentiles(numbers, 0.95).unwrap();
        assert!((interval.low - 25.0).abs() < 1e-9 && (interval.high - 975.0).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn small_cases_by_hand() {
        // Four differences of one sign: 2 of 16 sign assignments are as far from 0.
        assert_eq!(permutation_test(&[0.1, 0.2, 0.3, 0.4, 0.0], 9999, Seed(1)), 2.0 / 16.0);
        // 0.3 − 0.1: of ±0.3 ± 0.1 all four are at least 0.2 away.
        assert_eq!(permutation_test(&[0.3, -0.1], 9999, Seed(1)), 1.0);
        assert_eq!(permutation_test(&[0.0; 7], 9999, Seed(1)), 1.0);
        assert_eq!(permutation_test(&[], 9999, Seed(1)), 1.0);
        assert_eq!(bootstrap_interval(&[], 0.95, 100, Seed(1)), Interval::default());
        assert_eq!(bootstrap_interval(&[0.25], 0.95, 100, Seed(1)), Interval { low: 0.25, high: 0.25 });
    }

    #[test]
    fn the_sample_agrees_with_the_enumeration() {
        let differences =
            differences(&random_reciprocal_ranks(12, 3, "a"), &random_reciprocal_ranks(12, 3, "b")).unwrap();
        let exact = permutation_test(&differences, 1 << 12, Seed(1));
        let sampled = permutation_test(&differences, (1 << 12) - 1, Seed(1));
        assert!((exact - sampled).abs() < 0.03, "{exact} {sampled}");
    }

    #[test]
    fn the_interval_covers_the_truth() {
        let truth = (1..20).map(|rank| 1.0 / f64::from(rank)).sum::<f64>() / 19.0;
        let covers = |seed: u64| {
            let interval = bootstrap_interval(&random_reciprocal_ranks(200, seed, "a"), 0.95, 400, Seed(seed));
            interval.low <= truth && truth <= interval.high
        };
        let covered = (0..400u64).filter(|seed| covers(*seed)).count() as f64 / 400.0;
        // 0.95 ± 3 standard errors, and a percentile interval of 200 values covers a little less than it says.
        assert!((0.91..=0.98).contains(&covered), "{covered}");
    }

    #[test]
    fn p_values_of_equal_systems_are_uniform() {
        for test in [permutation_test, bootstrap_test] {
            let mut counts = [0usize; 5];
            for seed in 0..500 {
                let (a, b) = (random_reciprocal_ranks(60, seed, "a"), random_reciprocal_ranks(60, seed, "b"));
                let p = test(&differences(&a, &b).unwrap(), 199, Seed(seed));
                counts[((p * 5.0) as usize).min(4)] += 1;
            }
            // 100 in each fifth; the standard deviation is 9.
            assert!(counts.iter().all(|count| (64..=136).contains(count)), "{counts:?}");
        }
    }

    #[test]
    fn a_real_difference_is_found() {
        let b = random_reciprocal_ranks(300, 5, "a");
        let a: Vec<f64> =
            b.iter().zip(random_reciprocal_ranks(300, 5, "b")).map(|(b, noise)| b + 0.1 * noise).collect();
        let comparison = compare(&a, &b, Seed(5)).unwrap();
        assert_eq!(comparison.p_value, 1.0 / (PERMUTATIONS + 1) as f64);
        assert!(comparison.interval.low > 0.0 && comparison.interval.high > comparison.difference);
        assert_eq!(comparison.wins_ties_losses, [300, 0, 0]);
        assert!(bootstrap_test(&differences(&a, &b).unwrap(), 999, Seed(5)) < 0.002);
        assert!(compare(&a, &b[1..], Seed(5)).is_err());
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let values = random_reciprocal_ranks(100, 9, "a");
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let alone = one.install(|| compare(&values, &vec![0.2; 100], Seed(2)).unwrap());
        assert_eq!(alone, compare(&values, &vec![0.2; 100], Seed(2)).unwrap());
    }
}
