//! Statistics of the data cards of all runs: what each learned from, and what the gates dropped.

use polars::prelude::{LazyFrame, PolarsResult, SortMultipleOptions, col, len, lit};
use serde::Serialize;

use super::{columns, numbers, records::RunFrames, texts};
use crate::{
    numbers::{count, percent},
    words::digits,
};

/// Data that one or more runs learned from.
#[derive(Debug, Serialize)]
pub struct DataCardView {
    /// The newest run that learned from it.
    pub run: String,
    /// Address of that run's page, where there is one.
    pub link: String,
    /// Number of runs that learned from it.
    pub runs: String,
    /// First digits of the data's fingerprint.
    pub fingerprint: String,
    /// Number of sources.
    pub sources: String,
    /// Number of pairs that the sources gave.
    pub read: String,
    /// Pairs of training, validation and test.
    pub splits: [String; 3],
    /// Share of the pairs that came through all gates.
    pub kept: String,
    /// Number of groups.
    pub groups: String,
    /// Share of the test pairs that have the most frequent leak.
    pub leaked: String,
    /// CSS class of that share.
    pub tone: &'static str,
    /// Number of licences.
    pub licenses: String,
}

/// A reason for which gates dropped pairs.
#[derive(Debug, Serialize)]
pub struct LossView {
    /// The gate.
    pub gate: String,
    /// The reason.
    pub reason: String,
    /// Number of pairs, over all data.
    pub pairs: String,
    /// Number of data sets that lost pairs by it.
    pub data: String,
}

/// Reasons that are listed.
const MOST: u32 = 15;

/// Columns of numbers of a data card.
const COUNTS: [&str; 10] =
    ["sources", "read", "repeated", "train", "validation", "test", "groups", "leaked", "tested", "licenses"];

/// One row a data set, that of the newest run first.
fn query(cards: &LazyFrame) -> LazyFrame {
    let newest = ["order", "run", "fingerprint"].into_iter().chain(COUNTS);
    let mut values: Vec<_> = newest.map(|name| col(name).last()).collect();
    values.push(len().alias("runs"));
    cards
        .clone()
        .group_by_stable(columns(&["data"]))
        .agg(values)
        .sort(["order"], SortMultipleOptions::default().with_order_descending(true))
}

/// One row a gate and reason, the most frequent first. Data of several runs counts once.
fn dropped_query(dropped: &LazyFrame) -> LazyFrame {
    dropped
        .clone()
        .group_by_stable(columns(&["data", "gate", "reason"]))
        .agg([col("pairs").last()])
        .filter(col("pairs").gt(lit(0u64)))
        .group_by_stable(columns(&["gate", "reason"]))
        .agg([col("pairs").sum(), len().alias("sets")])
        .sort(
            ["pairs", "gate", "reason"],
            SortMultipleOptions::default().with_order_descending_multi([true, false, false]),
        )
        .limit(MOST)
}

/// Asks what was learned from; `link` gives the address of a run's page.
pub fn cards(frames: &RunFrames, link: &dyn Fn(&str) -> String) -> PolarsResult<Vec<DataCardView>> {
    let found = query(&frames.cards).collect()?;
    let [run, fingerprint] = texts(&found, ["run", "fingerprint"])?;
    let [runs] = numbers(&found, ["runs"])?;
    let [sources, read, repeated, train, validation, test, groups, leaked, tested, licenses] = numbers(&found, COUNTS)?;
    let row = |row: usize| {
        let splits = [train[row], validation[row], test[row]];
        DataCardView {
            run: run[row].clone(),
            link: link(&run[row]),
            runs: count(runs[row] as u64),
            fingerprint: digits(&fingerprint[row]),
            sources: count(sources[row] as u64),
            read: count(read[row] as u64),
            splits: splits.map(|pairs| count(pairs as u64)),
            // A pair that stands there twice was read once.
            kept: percent((splits.iter().sum::<f64>() - repeated[row]) as u64, read[row] as u64),
            groups: count(groups[row] as u64),
            leaked: percent(leaked[row] as u64, tested[row] as u64),
            tone: match (leaked[row] > 0.0, tested[row] > 0.0) {
                (true, _) => "found",
                (false, true) => "clean",
                (false, false) => "muted",
            },
            licenses: count(licenses[row] as u64),
        }
    };
    Ok((0..found.height()).map(row).collect())
}

/// Asks why pairs were dropped.
pub fn losses(frames: &RunFrames) -> PolarsResult<Vec<LossView>> {
    let found = dropped_query(&frames.dropped).collect()?;
    let [gate, reason] = texts(&found, ["gate", "reason"])?;
    let [pairs, sets] = numbers(&found, ["pairs", "sets"])?;
    let row = |row: usize| LossView {
        gate: gate[row].clone(),
        reason: reason[row].clone(),
        pairs: count(pairs[row] as u64),
        data: count(sets[row] as u64),
    };
    Ok((0..found.height()).map(row).collect())
}

#[cfg(test)]
mod tests {
    use wb_core::records::data::{DataCard, Gate, Leak, SourceCount, SplitCount};

    use super::*;
    use crate::runs::records::RunRecords;

    fn run(id: &str, data: Option<&str>, dropped: &[(&str, u64)]) -> RunRecords {
        let split = |name: &str, pairs| (name.to_owned(), SplitCount { pairs, groups: 2, ..SplitCount::default() });
        let card = DataCard {
            sources: vec![SourceCount { pairs: 1000, ..SourceCount::default() }],
            gates: vec![Gate {
                name: "filter".into(),
                dropped: dropped.iter().map(|(reason, pairs)| ((*reason).to_owned(), *pairs)).collect(),
                ..Gate::default()
            }],
            splits: [split("train", 600), split("test", 200)].into(),
            leaks: vec![Leak { count: 1, of: 200, ..Leak::default() }, Leak { count: 3, of: 200, ..Leak::default() }],
            licenses: [("MIT".to_owned(), 800)].into(),
        };
        let mut run = RunRecords { id: id.into(), card: Some(card), ..RunRecords::default() };
        run.manifest.fingerprints.extend(data.map(|data| ("data".to_owned(), data.to_owned())));
        run
    }

    #[test]
    fn runs_on_the_same_data_share_a_row() {
        let runs = [
            run("first", Some("0123456789abcdef"), &[("short", 50), ("long", 0)]),
            run("second", None, &[("short", 20), ("trivial", 7)]),
            run("third", Some("0123456789abcdef"), &[("short", 50), ("long", 0)]),
        ];
        let frames = RunFrames::new(&runs).unwrap();
        let rows = cards(&frames, &|_| String::new()).unwrap();
        let shown: Vec<_> = rows.iter().map(|row| [&row.run, &row.runs, &row.fingerprint]).collect();
        assert_eq!(shown, [["third", "2", "0123456789ab"], ["second", "1", ""]]);
        let row = &rows[0];
        assert_eq!(row.splits, ["600", "0", "200"]);
        assert_eq!([&*row.kept, &*row.leaked, row.tone, &*row.groups], ["80.0 %", "1.5 %", "found", "4"]);
        let losses = losses(&frames).unwrap();
        let shown: Vec<_> = losses.iter().map(|row| [&row.reason, &row.pairs, &row.data]).collect();
        assert_eq!(shown, [["short", "70", "2"], ["trivial", "7", "1"]]);
    }

    #[test]
    fn pairs_that_stand_there_twice_were_read_once() {
        let mut repeated = run("only", None, &[]);
        let gate = Gate { name: "balance".into(), before: 700, after: 800, ..Gate::default() };
        repeated.card.as_mut().unwrap().gates.push(gate);
        let rows = cards(&RunFrames::new(&[repeated]).unwrap(), &|_| String::new()).unwrap();
        assert_eq!(rows[0].kept, "70.0 %");
    }

    #[test]
    fn no_card_is_no_row() {
        let frames = RunFrames::new(&[RunRecords::default()]).unwrap();
        assert!(cards(&frames, &|_| String::new()).unwrap().is_empty() && losses(&frames).unwrap().is_empty());
    }
}
