//! How much of a number is luck with the queries: bootstrap intervals, and paired tests of two systems.
//!
//! Values are per query (reciprocal ranks, nDCG); what is judged is their mean. All draws come from named streams of
//! one seed, one for each resample, so results do not depend on the number of threads.

use rand::{Rng, RngExt};
use rayon::prelude::*;
use wb_core::Seed;

use crate::{Error, Result};

/// Resamples unless told otherwise. The ends of a 95 % interval then stand on about 25 resamples each.
pub const RESAMPLES: usize = 1000;
/// Sign flips unless told otherwise; the least p-value that can come out is 1 / (this + 1).
pub const PERMUTATIONS: usize = 9999;

/// An interval of a mean.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
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

/// What a comparison of two systems on the same queries came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Mean of the first minus mean of the second.
    pub difference: f64,
    /// The interval of the difference, from [`bootstrap_interval`] of the differences.
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
        return Err(Error::Lengths { what: "queries of two systems", given: a.len(), expected: b.len() });
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

/// The middle `level` of some numbers, between two of them by linear interpolation.
fn percentiles(mut numbers: Vec<f64>, level: f64) -> Option<Interval> {
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().checked_sub(1)?;
    let at = |share: f64| {
        let place = share * last as f64;
        let below = numbers[place as usize];
        let above = numbers[(place as usize + 1).min(last)];
        below + (above - below) * place.fract()
    };
    Some(Interval { low: at((1.0 - level) / 2.0), high: at((1.0 + level) / 2.0) })
}

fn mean(values: &[f64]) -> f64 {
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
