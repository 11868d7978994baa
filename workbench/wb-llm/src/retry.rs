//! Retries: the number and the waits after which a failed request is sent again, and the point at which a run gives up.

use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rand::RngExt;
use wb_core::Seed;

use crate::config::{RetriesConfig, duration};

/// The last attempts that the circuit breaker looks at.
const WINDOW: usize = 50;
/// A wait is cut into such pieces, so that a request to stop is heard.
const PIECE: Duration = Duration::from_millis(25);

/// The wait before attempt `tried + 1`, drawn from 0 to a bound that doubles ("full jitter"), so that requests that
/// failed together do not come back together. Never shorter than what the server asked for.
pub fn wait(config: &RetriesConfig, tried: u32, asked: Option<Duration>, jitter: Seed, number: u64) -> Duration {
    let bound = config.first_wait_s * 2f64.powi(tried.min(30) as i32);
    let share: f64 = jitter.stream_at("llm-jitter", number).random();
    let drawn = duration(share * bound.min(config.max_wait_s));
    asked.map_or(drawn, |asked| asked + drawn.min(Duration::from_secs(1)))
}

/// Waits; false if somebody asked to stop meanwhile.
pub fn sleep(time: Duration, stop: &dyn Fn() -> bool) -> bool {
    let end = Instant::now() + time;
    loop {
        if stop() {
            return false;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(PIECE));
    }
}

/// Opens when more than half of the last 50 requests failed: then the server is to be looked at, not asked again.
#[derive(Debug, Default)]
pub struct Breaker {
    last: Mutex<VecDeque<bool>>,
    open: AtomicBool,
}

impl Breaker {
    /// Counts a request; whether the breaker is open now.
    pub fn count(&self, failed: bool) -> bool {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        last.push_back(failed);
        if last.len() > WINDOW {
            last.pop_front();
        }
        let failures = last.iter().filter(|failed| **failed).count();
        if last.len() == WINDOW && 2 * failures > WINDOW {
            self.open.store(true, Ordering::Relaxed);
        }
        self.open.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_are_bounded_and_heed_the_server() {
        let config = RetriesConfig { first_wait_s: 1.0, max_wait_s: 4.0, ..RetriesConfig::default() };
        let longest = |tried| (0..200).map(|n| wait(&config, tried, None, Seed(1), n)).max().unwrap().as_secs_f64();
        assert!((0.9..=1.0).contains(&longest(0)) && (1.8..=2.0).contains(&longest(1)));
        assert!((3.6..=4.0).contains(&longest(9)) && (3.6..=4.0).contains(&longest(1000)));
        assert!(wait(&config, 0, Some(Duration::from_secs(7)), Seed(1), 0) >= Duration::from_secs(7));
    }

    #[test]
    fn the_breaker_opens_on_the_26th_failure_of_50_and_stays_open() {
        let breaker = Breaker::default();
        (0..25).for_each(|_| assert!(!breaker.count(false)));
        (0..25).for_each(|_| assert!(!breaker.count(true)));
        assert!(breaker.count(true) && breaker.count(false));
        let breaker = Breaker::default();
        assert!((0..1000).all(|n| !breaker.count(n % 5 == 0)));
    }
}
