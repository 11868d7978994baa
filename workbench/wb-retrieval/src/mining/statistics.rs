//! The usual numbers about many scores.

use serde::{Deserialize, Serialize};
use wb_core::statistics::quantile;

/// Count, mean, sample deviation and quartiles; zeros for no scores.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of scores.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, of a sample (n − 1).
    pub deviation: f64,
    /// The least.
    pub min: f64,
    /// Three quarters are above.
    pub lower_quartile: f64,
    /// Half are above.
    pub median: f64,
    /// A quarter is above.
    pub upper_quartile: f64,
    /// The greatest.
    pub max: f64,
}

impl Distribution {
    /// Describes scores in any order, with the quantiles of [`quantile`].
    pub fn of(mut scores: Vec<f32>) -> Self {
        let n = scores.len();
        if n == 0 {
            return Self::default();
        }
        scores.sort_unstable_by(f32::total_cmp);
        let mean = scores.iter().map(|score| f64::from(*score)).sum::<f64>() / n as f64;
        let squares: f64 = scores.iter().map(|score| (f64::from(*score) - mean).powi(2)).sum();
        let quantile = |share: f64| quantile(&scores, share).unwrap_or_default();
        Self {
            count: n as u64,
            mean,
            deviation: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 },
            min: f64::from(scores[0]),
            lower_quartile: quantile(0.25),
            median: quantile(0.5),
            upper_quartile: quantile(0.75),
            max: f64::from(scores[n - 1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let of = Distribution::of(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!((of.count, of.mean, of.min, of.max), (4, 2.5, 1.0, 4.0));
        assert_eq!((of.lower_quartile, of.median, of.upper_quartile), (1.75, 2.5, 3.25));
        assert!((of.deviation - (5.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Distribution::of(Vec::new()), Distribution::default());
        assert_eq!(Distribution::of(vec![7.0]).deviation, 0.0);
    }
}
