//! The paired tests in words.

use serde::Serialize;
use wb_core::records::{compare::PairedTest, outcome::ContestantRole};

use crate::{
    contestants::Contestant,
    frames::{Frames, numbers, rows_where},
    gather::Run,
    numbers::{count, difference, interval, p_value},
    words,
};

/// One paired test as it is told.
#[derive(Debug, Serialize)]
pub struct Told {
    /// `MRR, pairs-full`.
    pub what: String,
    /// `pool of 2,534`.
    pub pool: String,
    /// `trained minus BM25`.
    pub who: String,
    /// `+.124`.
    pub difference: String,
    /// `[.110, .138]`.
    pub interval: String,
    /// `p < .001`.
    pub p: String,
    /// What it means.
    pub meaning: String,
    /// CSS class: `win`, `marginal`, `regression`.
    pub class: &'static str,
}

/// Tells the tests: those of the trained encoder against BM25 first, otherwise in the order of the file.
pub fn tell(run: &Run, frames: &Frames, contestants: &[Contestant]) -> Vec<Told> {
    let mut tests: Vec<&PairedTest> = run.compared.iter().collect();
    let role =
        |key: &str| contestants.iter().find(|contestant| contestant.key == key).map(|contestant| contestant.role);
    tests.sort_by_key(|test| {
        (role(&test.baseline) != Some(ContestantRole::Bm25), role(&test.candidate) != Some(ContestantRole::Trained))
    });
    tests.into_iter().map(|test| told(test, frames, contestants)).collect()
}

fn told(test: &PairedTest, frames: &Frames, contestants: &[Contestant]) -> Told {
    let label = |key: &str| {
        contestants
            .iter()
            .find(|contestant| contestant.key == key)
            .map_or_else(|| key.to_owned(), |known| known.label.clone())
    };
    let (a, b) = (label(&test.candidate), label(&test.baseline));
    let mut what = format!("{}, {}", words::metric(&test.metric), test.protocol);
    if !test.language.is_empty() {
        what.push_str(&format!(", {}", test.language));
    }
    let (class, meaning) = if test.low > 0.0 {
        ("win", format!("{a} is better than {b} by more than chance explains"))
    } else if test.high < 0.0 {
        ("regression", format!("{a} is worse than {b} by more than chance explains"))
    } else {
        ("marginal", format!("{a} and {b} cannot be told apart with these queries"))
    };
    let [wins, ties, losses] = test.wins_ties_losses.map(count);
    let meaning = format!("{meaning}: better on {wins} queries, equal on {ties}, worse on {losses}");
    Told {
        what,
        pool: pool(test, frames).map(|pool| format!("pool of {}", count(pool))).unwrap_or_default(),
        who: format!("{a} minus {b}"),
        difference: difference(test.difference),
        interval: interval(test.low, test.high),
        p: p_value(test.p_value),
        meaning,
        class,
    }
}

fn pool(test: &PairedTest, frames: &Frames) -> Option<u64> {
    let rows = rows_where(
        &frames.scores,
        &[("protocol", &test.protocol), ("metric", &test.metric), ("contestant", &test.candidate)],
    )
    .ok()?;
    numbers(&rows, "pool").first().map(|pool| *pool as u64)
}
