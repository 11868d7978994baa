//! The paired tests in words.

use serde::Serialize;
use wb_core::records::{
    compare::{CompareVerdict, PairedTest},
    outcome::ContestantRole,
};

use crate::{
    contestants::{Contestant, named},
    gather::RunContents,
    numbers::{count, difference, interval, p_value},
    run_tables::RunTables,
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
    /// Meaning in a sentence.
    pub meaning: String,
    /// CSS class: `win`, `marginal`, `regression`.
    pub class: &'static str,
}

/// Tells the tests: those of the trained encoder against BM25 first, otherwise in the order of the file.
pub fn tell(run: &RunContents, tables: &RunTables, contestants: &[Contestant]) -> Vec<Told> {
    let mut tests: Vec<&PairedTest> = run.compared.iter().collect();
    let role = |key: &str| named(contestants, key).map(|contestant| contestant.role);
    tests.sort_by_key(|test| {
        (role(&test.baseline) != Some(ContestantRole::Bm25), role(&test.candidate) != Some(ContestantRole::Trained))
    });
    tests.into_iter().map(|test| told(test, tables, contestants)).collect()
}

fn told(test: &PairedTest, tables: &RunTables, contestants: &[Contestant]) -> Told {
    let label = |key: &str| named(contestants, key).map_or_else(|| key.to_owned(), |known| known.label.clone());
    let (a, b, comparison) = (label(&test.candidate), label(&test.baseline), &test.comparison);
    let mut what = format!("{}, {}", words::metric(&test.metric), test.protocol);
    if !test.language.is_empty() {
        what.push_str(&format!(", {}", test.language));
    }
    let verdict = CompareVerdict::of(comparison.interval);
    let meaning = match verdict {
        CompareVerdict::Win => format!("{a} is better than {b} by more than chance explains"),
        CompareVerdict::Regression => format!("{a} is worse than {b} by more than chance explains"),
        CompareVerdict::Marginal => format!("{a} and {b} cannot be told apart with these queries"),
    };
    let [wins, ties, losses] = comparison.wins_ties_losses.map(|queries| count(queries as u64));
    let meaning = format!("{meaning}: better on {wins} queries, equal on {ties}, worse on {losses}");
    Told {
        what,
        pool: pool(test, tables).map(|pool| format!("pool of {}", count(pool))).unwrap_or_default(),
        who: format!("{a} minus {b}"),
        difference: difference(comparison.difference),
        interval: interval(comparison.interval),
        p: p_value(comparison.p_value),
        meaning,
        class: words::verdict(Some(verdict)).0,
    }
}

fn pool(test: &PairedTest, tables: &RunTables) -> Option<u64> {
    let of_test = tables.scores.iter().find(|entry| {
        entry.score.id == test.protocol && entry.score.metric == test.metric && entry.contestant == test.candidate
    });
    of_test.map(|entry| entry.score.pool)
}
