//! Leaderboards: the contestants of all runs that were measured on the same data under the same protocol.

use polars::prelude::{JoinArgs, JoinType, LazyFrame, PolarsResult, SortMultipleOptions, col, lit};
use serde::Serialize;
use wb_core::{records::outcome::ContestantRole, statistics::Interval};

use super::{columns, differs::differs, numbers, records::RunFrames, texts};
use crate::{
    numbers::{count, difference, fraction, interval},
    words,
};

/// Contestants by their value of one metric, the best first.
#[derive(Debug, Serialize)]
pub struct Leaderboard {
    /// The protocol.
    pub title: String,
    /// Benchmark, version, split, language, the benchmark's settings, and fingerprint of the data.
    pub place: String,
    /// Pool and number of queries.
    pub size: String,
    /// The metric in words.
    pub metric: String,
    /// The contestants.
    pub rows: Vec<LeaderboardRow>,
    /// Number of contestants that come after these.
    pub left_out: usize,
}

/// One contestant of a leaderboard.
#[derive(Debug, Serialize)]
pub struct LeaderboardRow {
    /// Rank, from 1; equal values share one.
    pub rank: usize,
    /// Name of the contestant.
    pub label: String,
    /// Number of its color's class.
    pub color: u32,
    /// The newest run that measured it.
    pub run: String,
    /// Address of that run's page, where there is one.
    pub link: String,
    /// Number of other runs that measured it too.
    pub others: String,
    /// Pretrained encoder that its training began with.
    pub base: String,
    /// `.495`.
    pub value: String,
    /// `[.480, .511]`.
    pub interval: String,
    /// Difference to BM25: `+.124`; empty without BM25 and for itself.
    pub over_bm25: String,
    /// Overrides that make the config of the best that a run trained this one's; empty for what no run trained.
    pub differs: Vec<String>,
}

/// BM25 in the column `role`.
const BM25: u32 = ContestantRole::Bm25 as u32;
/// Contestants that a run trained, in the same column.
const TRAINED: u32 = ContestantRole::Trained as u32;

/// Contestants on one leaderboard.
const MOST: usize = 20;

/// Columns that numbers have in common where they can be compared.
const BOARD: [&str; 6] = ["benchmark", "version", "dataset", "settings", "protocol", "split"];

/// The columns of [`BOARD`], and the language.
const PLACE: [&str; 7] = ["benchmark", "version", "dataset", "settings", "protocol", "split", "language"];

/// One row a contestant and leaderboard, in the order of the page: those of the newest run first, the best first in each.
///
/// A contestant that several runs measured, as BM25 is by each run on the same data, stands there once, with its newest
/// number; an encoder that one run trained and another began with stands there in both roles. The metric is the first
/// that the protocol tells, and the language `all` stands for its parts.
fn query(scores: &LazyFrame) -> LazyFrame {
    let inner = || JoinArgs::new(JoinType::Inner);
    let lead = scores
        .clone()
        .group_by_stable(columns(&BOARD))
        .agg([col("metric").first().alias("lead"), col("language").eq(lit("all")).any(true).alias("has_all")]);
    let newest = ["label", "color", "base", "run", "order", "metric", "pool", "queries", "value", "low", "high"];
    let mut of_contestant: Vec<_> = newest.iter().map(|name| col(*name).last()).collect();
    of_contestant.push(col("run").n_unique().alias("runs"));
    let key = [&PLACE[..], &["contestant", "role"]].concat();
    let contestants = scores
        .clone()
        .join(lead, columns(&BOARD), columns(&BOARD), inner())
        .filter(col("metric").eq(col("lead")))
        .filter(col("has_all").not().or(col("language").eq(lit("all"))))
        .sort(["row"], SortMultipleOptions::default())
        .group_by_stable(columns(&key))
        .agg(of_contestant);
    let is_bm25 = col("role").eq(lit(BM25));
    let boards = contestants
        .clone()
        .group_by_stable(columns(&PLACE))
        .agg([col("value").filter(is_bm25).max().alias("bm25"), col("order").max().alias("newest")]);
    let by = [&["newest"][..], &PLACE, &["value", "order", "label", "contestant", "role"]].concat();
    let descending = by.iter().map(|name| ["newest", "value", "order"].contains(name)).collect::<Vec<_>>();
    contestants
        .join(boards, columns(&PLACE), columns(&PLACE), inner())
        .with_columns([(col("value") - col("bm25")).alias("over_bm25")])
        .sort(by, SortMultipleOptions::default().with_order_descending_multi(descending))
}

/// Asks for the leaderboards; `link` gives the address of a run's page.
pub fn leaderboards(frames: &RunFrames, link: &dyn Fn(&str) -> String) -> PolarsResult<Vec<Leaderboard>> {
    let found = query(&frames.scores).collect()?;
    let [benchmark, dataset, settings, protocol, split, language, metric] =
        texts(&found, ["benchmark", "dataset", "settings", "protocol", "split", "language", "metric"])?;
    let [label, base, run] = texts(&found, ["label", "base", "run"])?;
    let [version, role, color, runs, pool, queries] =
        numbers(&found, ["version", "role", "color", "runs", "pool", "queries"])?;
    let [value, low, high, over_bm25] = numbers(&found, ["value", "low", "high", "over_bm25"])?;
    let place = |row: usize| {
        let data = (&benchmark[row], version[row] as u64, &dataset[row], &settings[row]);
        (data, &protocol[row], &split[row], &language[row])
    };
    let mut boards: Vec<Leaderboard> = Vec::new();
    let (mut start, mut best) = (0, None);
    for row in 0..found.height() {
        if row == 0 || place(row) != place(start) {
            (start, best) = (row, None);
            let mut parts = vec![format!("{}, version {}", benchmark[row], version[row])];
            parts.extend((!split[row].is_empty()).then(|| format!("{} split", split[row])));
            parts.extend((!language[row].is_empty()).then(|| language[row].clone()));
            parts.extend((!settings[row].is_empty()).then(|| settings[row].clone()));
            parts.push(format!("data {}", words::digits(&dataset[row])));
            boards.push(Leaderboard {
                title: protocol[row].clone(),
                place: parts.join(", "),
                size: format!(
                    "{} queries, a pool of {} documents",
                    count(queries[row] as u64),
                    count(pool[row] as u64)
                ),
                metric: words::metric(&metric[row]),
                rows: Vec::new(),
                left_out: 0,
            });
        }
        let Some(board) = boards.last_mut() else { continue };
        if board.rows.len() == MOST {
            board.left_out += 1;
            continue;
        }
        let config = frames.configs.get(&run[row]).filter(|_| role[row] == f64::from(TRAINED));
        best = best.or(config);
        let above = (start..row).filter(|other| value[*other] > value[row]).count();
        let others = runs[row] as u64 - 1;
        board.rows.push(LeaderboardRow {
            rank: above + 1,
            label: label[row].clone(),
            color: color[row] as u32,
            link: link(&run[row]),
            run: run[row].clone(),
            others: if others > 0 { count(others) } else { String::new() },
            base: base[row].clone(),
            value: fraction(value[row]),
            interval: interval(Interval { low: low[row], high: high[row] }),
            over_bm25: if role[row] == f64::from(BM25) || over_bm25[row].is_nan() {
                String::new()
            } else {
                difference(over_bm25[row])
            },
            differs: best.zip(config).map(|(best, config)| differs(best, config)).unwrap_or_default(),
        });
    }
    Ok(boards)
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;
    use wb_core::records::outcome::{OutcomeNumbers, ProtocolScore};

    use super::*;
    use crate::runs::records::RunRecords;

    fn number(language: &str, metric: &str, value: f64) -> ProtocolScore<IgnoredAny> {
        ProtocolScore {
            id: "csn-1000".into(),
            language: language.into(),
            metric: metric.into(),
            value,
            pool: 1000,
            n_queries: 99,
            ..ProtocolScore::default()
        }
    }

    fn bench(role: ContestantRole, fingerprint: &str, protocols: Vec<ProtocolScore<IgnoredAny>>) -> OutcomeNumbers {
        OutcomeNumbers {
            benchmark: "codesearchnet".into(),
            version: 2,
            contestant: fingerprint.into(),
            role,
            contestant_fingerprint: fingerprint.into(),
            dataset_fingerprint: "abcdefabcdefabcdef".into(),
            protocols,
            ..OutcomeNumbers::default()
        }
    }

    fn run(id: &str, benches: Vec<OutcomeNumbers>) -> RunRecords {
        let config = [("name".to_owned(), id.to_owned()), ("seed".to_owned(), id.len().to_string())];
        RunRecords { id: id.into(), benches, config: config.into(), ..RunRecords::default() }
    }

    fn boards(runs: &[RunRecords]) -> Vec<Leaderboard> {
        leaderboards(&RunFrames::new(runs).unwrap(), &|run| format!("./{run}.html")).unwrap()
    }

    #[test]
    fn contestants_of_all_runs_stand_in_one_order() {
        let mrr = |value| vec![number("all", "mrr", value), number("all", "recall@1", 1.0 - value)];
        let first = run(
            "first",
            vec![
                bench(ContestantRole::Bm25, "words", mrr(0.4)),
                bench(ContestantRole::Trained, "weights 1", mrr(0.5)),
                bench(ContestantRole::Untrained, "start", mrr(0.1)),
            ],
        );
        let second = run(
            "second",
            vec![
                bench(ContestantRole::Bm25, "words", mrr(0.4)),
                bench(ContestantRole::Trained, "weights 2", mrr(0.6)),
                bench(ContestantRole::Other, "theirs", mrr(0.5)),
            ],
        );
        let all = boards(&[first, second]);
        let [board] = &all[..] else { panic!("one board") };
        assert_eq!((&*board.title, &*board.metric), ("csn-1000", "MRR"));
        assert_eq!(board.place, "codesearchnet, version 2, all, data abcdefabcdef");
        assert_eq!(board.size, "99 queries, a pool of 1,000 documents");
        let shown: Vec<_> =
            board.rows.iter().map(|row| (row.rank, &*row.label, &*row.run, &*row.over_bm25, &*row.others)).collect();
        assert_eq!(
            shown,
            [
                (1, "trained", "second", "+.200", ""),
                (2, "theirs", "second", "+.100", ""),
                (2, "trained", "first", "+.100", ""),
                (4, "BM25", "second", "", "1"),
                (5, "untrained", "first", "−.300", ""),
            ]
        );
        let differing: Vec<_> = board.rows.iter().map(|row| row.differs.join(" ")).collect();
        assert_eq!(differing, ["", "", "seed=5", "", ""]);
    }

    #[test]
    fn other_data_is_another_board_and_all_stands_for_its_languages() {
        let with = |languages: &[&str]| languages.iter().map(|language| number(language, "mrr", 0.5)).collect();
        let whole = bench(ContestantRole::Trained, "a", with(&["go", "ruby", "all"]));
        let mut parts = bench(ContestantRole::Trained, "b", with(&["ruby", "go"]));
        parts.dataset_fingerprint = "other".into();
        let all = boards(&[run("old", vec![whole]), run("new", vec![parts])]);
        let places: Vec<_> = all.iter().map(|board| (&*board.place, board.rows.len())).collect();
        assert_eq!(
            places,
            [
                ("codesearchnet, version 2, go, data other", 1),
                ("codesearchnet, version 2, ruby, data other", 1),
                ("codesearchnet, version 2, all, data abcdefabcdef", 1),
            ]
        );
        assert_eq!(all[0].rows[0].over_bm25, "", "nobody measured BM25");
    }

    #[test]
    fn other_settings_of_a_benchmark_are_another_board() {
        let with = |role, fingerprint: &str, text: &str, value| OutcomeNumbers {
            settings: vec![("text".into(), text.into()), ("contestant.similarity".into(), fingerprint.into())],
            ..bench(role, fingerprint, vec![number("all", "mrr", value)])
        };
        let tokens =
            vec![with(ContestantRole::Bm25, "words", "tokens", 0.3), with(ContestantRole::Trained, "a", "tokens", 0.5)];
        let raw = vec![with(ContestantRole::Bm25, "words", "raw", 0.8), with(ContestantRole::Trained, "a", "raw", 0.9)];
        let all = boards(&[run("first", tokens), run("second", raw)]);
        let shown: Vec<_> =
            all.iter().map(|board| (&*board.place, &*board.rows[0].over_bm25, board.rows.len())).collect();
        assert_eq!(
            shown,
            [
                ("codesearchnet, version 2, all, text raw, data abcdefabcdef", "+.100", 2),
                ("codesearchnet, version 2, all, text tokens, data abcdefabcdef", "+.200", 2),
            ]
        );
    }

    #[test]
    fn what_one_run_trained_and_another_began_with_stands_in_both_roles() {
        let of = |role| bench(role, "weights", vec![number("all", "mrr", 0.5)]);
        let all = boards(&[run("a", vec![of(ContestantRole::Trained)]), run("b", vec![of(ContestantRole::Untrained)])]);
        let shown: Vec<_> = all[0].rows.iter().map(|row| (row.rank, &*row.label, &*row.run)).collect();
        assert_eq!(shown, [(1, "untrained", "b"), (1, "trained", "a")]);
    }

    #[test]
    fn a_long_board_is_cut_and_none_is_no_board() {
        let one = |at: usize| bench(ContestantRole::Other, &at.to_string(), vec![number("", "mrr", 0.5)]);
        let all = boards(&[run("only", (0..MOST + 3).map(one).collect())]);
        let [board] = &all[..] else { panic!("one board") };
        assert_eq!((board.rows.len(), board.left_out), (MOST, 3));
        assert!(board.rows.iter().all(|row| row.rank == 1));
        assert!(boards(&[run("empty", Vec::new())]).is_empty());
        assert!(boards(&[]).is_empty());
    }
}
