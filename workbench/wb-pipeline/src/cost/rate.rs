//! A speed measured in little time: passes of growing size, until one is long enough to tell.

use anyhow::Result;

/// One pass: how much was done, in how many seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedPass {
    /// Tokens, pairs, products: whatever the speed is a speed of.
    pub amount: f64,
    /// Seconds on the clock.
    pub seconds: f64,
}

/// Limits of a measurement: its time, and the sizes of its passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimits {
    /// Seconds after which no pass begins.
    pub seconds: f64,
    /// The size of the first pass.
    pub first: usize,
    /// The size of the largest pass.
    pub most: usize,
}

/// Passes of one size whose median is the speed.
const PASSES: usize = 3;

/// Amount a second. Passes double in size while one takes less than a sixteenth of the time, because small ones measure
/// how threads are woken; then the median of three is taken, the first of which also touches fresh memory. Where the time
/// is up before that, the last pass is what there is: a single one on a slow machine.
pub fn rate(limits: RateLimits, work: &mut dyn FnMut(usize) -> Result<TimedPass>) -> Result<f64> {
    let (mut size, mut spent) = (limits.first.min(limits.most).max(1), 0.0);
    let mut rates: Vec<f64> = Vec::new();
    loop {
        let pass = work(size)?;
        spent += pass.seconds;
        // A clock that did not move says only that it was quick.
        rates.push(pass.amount / pass.seconds.max(1e-9));
        if spent >= limits.seconds || rates.len() == PASSES {
            return Ok(median(rates));
        }
        if pass.seconds < limits.seconds / 16.0 && size < limits.most {
            size = size.saturating_mul(2).min(limits.most);
            rates.clear();
        }
    }
}

/// The middle one; of two, the lower.
fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get((rates.len().max(1) - 1) / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes of a machine that takes so many seconds for each unit and so many for each pass; the sizes asked for.
    fn measured(limits: RateLimits, each: f64, start: f64) -> (f64, Vec<usize>) {
        let mut sizes = Vec::new();
        let found = rate(limits, &mut |size| {
            sizes.push(size);
            Ok(TimedPass { amount: size as f64, seconds: start + each * size as f64 })
        });
        (found.unwrap(), sizes)
    }

    #[test]
    fn one_pass_that_takes_too_long_is_all() {
        let (rate, sizes) = measured(RateLimits { seconds: 2.0, first: 8, most: 64 }, 1.0, 0.0);
        assert_eq!((rate, sizes), (1.0, vec![8]));
    }

    #[test]
    fn small_passes_grow_until_they_tell() {
        // 1.6 seconds: passes under 0.1 s grow. At 64 a pass takes 0.128 s.
        let (rate, sizes) = measured(RateLimits { seconds: 1.6, first: 8, most: 1000 }, 0.002, 0.0);
        assert!((rate - 500.0).abs() < 1e-9, "{rate}");
        assert_eq!(sizes, [8, 16, 32, 64, 64, 64]);
    }

    #[test]
    fn they_grow_no_larger_than_what_there_is() {
        let (_, sizes) = measured(RateLimits { seconds: 1.0, first: 8, most: 20 }, 1e-6, 0.0);
        assert_eq!(sizes, [8, 16, 20, 20, 20]);
        let (_, sizes) = measured(RateLimits { seconds: 1.0, first: 8, most: 4 }, 1e-6, 0.0);
        assert_eq!(sizes, [4, 4, 4]);
    }

    #[test]
    fn the_median_leaves_the_slow_first_pass_out() {
        let mut seconds = [3.0, 1.0, 1.1].into_iter();
        let limits = RateLimits { seconds: 10.0, first: 10, most: 10 };
        let found = rate(limits, &mut |_| Ok(TimedPass { amount: 11.0, seconds: seconds.next().unwrap() })).unwrap();
        assert!((found - 10.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn the_first_error_ends_it() {
        let limits = RateLimits { seconds: 1.0, first: 1, most: 1 };
        assert!(rate(limits, &mut |_| anyhow::bail!("it broke")).is_err());
    }
}
