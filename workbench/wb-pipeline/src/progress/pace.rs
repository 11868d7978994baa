//! The pace of the work: units per second of the recent past, not of all the time since it began.

use std::collections::VecDeque;

/// Seconds that are looked back. Longer than most stages' batches take, short enough to follow a stage of a curriculum.
const WINDOW: f64 = 60.0;

/// Seconds between marks that are kept, so that a million reports a minute cost no memory.
const APART: f64 = 1.0;

/// A counter with times.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    kept: VecDeque<Mark>,
    last: Option<Mark>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    seconds: f64,
    done: u64,
}

impl Pace {
    /// Takes how many units are done by a time. Where it goes back, counting begins anew.
    pub fn mark(&mut self, seconds: f64, done: u64) {
        if self.last.is_some_and(|last| done < last.done || seconds < last.seconds) {
            self.kept.clear();
        }
        let mark = Mark { seconds, done };
        self.last = Some(mark);
        if self.kept.back().is_none_or(|back| seconds - back.seconds >= APART) {
            self.kept.push_back(mark);
        }
        // One mark that is older than the window stays, so that steps of minutes have a pace too.
        while self.kept.get(1).is_some_and(|second| second.seconds <= seconds - WINDOW) {
            self.kept.pop_front();
        }
    }

    /// Units per second; nothing before there are two marks with units between them.
    pub fn per_second(&self) -> Option<f64> {
        let (first, last) = (self.kept.front()?, self.last?);
        let (units, seconds) = (last.done - first.done, last.seconds - first.seconds);
        (units > 0 && seconds > 0.0).then(|| units as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(marks: &[(f64, u64)]) -> Option<f64> {
        let mut pace = Pace::default();
        marks.iter().for_each(|(seconds, done)| pace.mark(*seconds, *done));
        pace.per_second()
    }

    #[test]
    fn nothing_is_known_before_something_is_done() {
        assert_eq!(pace(&[]), None);
        assert_eq!(pace(&[(0.0, 0)]), None);
        assert_eq!(pace(&[(0.0, 0), (5.0, 0)]), None);
        assert_eq!(pace(&[(0.0, 0), (0.5, 10)]), Some(20.0));
    }

    /// Steps that were done before a resume took no time of this session.
    #[test]
    fn what_was_done_before_the_first_mark_does_not_count() {
        assert_eq!(pace(&[(0.0, 4000), (2.0, 4001), (4.0, 4002)]), Some(0.5));
    }

    #[test]
    fn only_the_last_minute_counts() {
        let fast = (0..=100).map(|at| (f64::from(at), u64::from(at as u32) * 100));
        let slow = (1..=100).map(|at| (100.0 + f64::from(at), 10_000 + u64::from(at as u32)));
        let all: Vec<(f64, u64)> = fast.chain(slow).collect();
        assert_eq!(pace(&all[..=100]), Some(100.0));
        assert_eq!(pace(&all), Some(1.0));
    }

    #[test]
    fn units_of_minutes_have_a_pace_too() {
        assert_eq!(pace(&[(0.0, 0), (200.0, 1), (400.0, 2), (600.0, 3)]), Some(0.005));
    }

    #[test]
    fn a_counter_that_goes_back_begins_anew() {
        assert_eq!(pace(&[(0.0, 0), (10.0, 1000), (10.0, 0), (12.0, 4)]), Some(2.0));
    }

    #[test]
    fn many_reports_keep_few_marks() {
        let mut pace = Pace::default();
        (0..1_000_000u32).for_each(|at| pace.mark(f64::from(at) * 1e-3, u64::from(at)));
        assert!(pace.kept.len() < 65, "{}", pace.kept.len());
        assert!((pace.per_second().unwrap() - 1000.0).abs() < 1.0);
    }
}
