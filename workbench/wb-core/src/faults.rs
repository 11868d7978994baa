//! Faults on purpose: from the n-th write on, files cannot be written, so that tests see what is left behind.
//!
//! Whatever makes, writes, flushes, renames or removes a file of a run asks [`point`] first. Nothing fails unless
//! [`fail_at`] was called on the same thread.

use std::{cell::Cell, io};

thread_local! {
    static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Plan {
    left: u64,
    for_good: bool,
    fired: bool,
}

/// Lets the `n`-th point from now fail, from 1, with "no space left"; and all after it, if `for_good`.
pub fn fail_at(n: u64, for_good: bool) {
    PLAN.set(Some(Plan { left: n, for_good, fired: false }));
}

/// Ends it; whether a point has failed.
pub fn clear() -> bool {
    PLAN.take().is_some_and(|plan| plan.fired)
}

/// An error where one was asked for.
pub fn point() -> io::Result<()> {
    let Some(mut plan) = PLAN.get() else { return Ok(()) };
    plan.left = plan.left.saturating_sub(1);
    let fails = plan.left == 0 && (plan.for_good || !plan.fired);
    plan.fired |= fails;
    PLAN.set(Some(plan));
    if fails { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_fail_when_they_should() {
        let five = || (0..5).map(|_| point().is_err()).collect::<Vec<_>>();
        assert_eq!(five(), [false; 5]);
        fail_at(3, false);
        assert_eq!(five(), [false, false, true, false, false]);
        assert!(clear());
        fail_at(3, true);
        assert_eq!(five(), [false, false, true, true, true]);
        assert!(clear());
        fail_at(9, true);
        assert_eq!(five(), [false; 5]);
        assert!(!clear() && !clear());
    }
}
