//! Tables of scores: the summary (contestants against metrics) and the full list with ties and de-duplicated values.

use polars::prelude::DataFrame;
use serde::Serialize;
use wb_core::records::outcome::ContestantRole;

use crate::{
    Result,
    contestants::Contestant,
    frames::{Frames, distinct, numbers, rows_where, texts},
    gather::Run,
    numbers::{count, fraction, interval},
    words,
};

/// The summary of one protocol: contestants against metrics, or, where there are several languages, a group of
/// contestants for each metric against languages.
#[derive(Debug, Serialize)]
pub struct ScoreTable {
    /// The benchmark.
    pub benchmark: String,
    /// The protocol's id.
    pub protocol: String,
    /// The split.
    pub split: String,
    /// What the protocol does, in words.
    pub words: String,
    /// Language, pool and queries, where there is one language.
    pub size: String,
    /// Metrics or languages.
    pub columns: Vec<Column>,
    /// The rows.
    pub groups: Vec<ScoreGroup>,
    /// How many metrics are only in the full list.
    pub left_out: usize,
}

/// A column of a summary.
#[derive(Debug, Serialize)]
pub struct Column {
    /// Its title.
    pub title: String,
    /// The pool, where columns differ in it.
    pub note: String,
}

/// Rows that belong together.
#[derive(Debug, Serialize)]
pub struct ScoreGroup {
    /// The metric, where rows are grouped by it.
    pub title: String,
    /// One row a contestant.
    pub rows: Vec<ScoreRow>,
}

/// One contestant's numbers.
#[derive(Debug, Serialize)]
pub struct ScoreRow {
    /// Its name.
    pub label: String,
    /// Number of its color's class.
    pub color: usize,
    /// Whether the run made it.
    pub own: bool,
    /// One cell a metric.
    pub cells: Vec<ScoreCell>,
}

/// One number; empty where it was not measured.
#[derive(Debug, Default, Serialize)]
pub struct ScoreCell {
    /// `.495`.
    pub value: String,
    /// `[.480, .511]`.
    pub interval: String,
    /// Whether it is the highest of its column.
    pub best: bool,
}

/// Makes the summary tables, one a protocol, in the order of the outcomes.
pub fn summaries(frames: &Frames, contestants: &[Contestant]) -> Result<Vec<ScoreTable>> {
    let mut tables = Vec::new();
    for key in distinct(&frames.scores, &["benchmark", "protocol", "split"]) {
        let [benchmark, protocol, split] = &key[..] else { continue };
        let rows = rows_where(&frames.scores, &[("benchmark", benchmark), ("protocol", protocol), ("split", split)])?;
        let all: Vec<String> = distinct(&rows, &["metric"]).into_iter().flatten().collect();
        let metrics = words::headline(&all);
        let languages: Vec<String> = distinct(&rows, &["language"]).into_iter().flatten().collect();
        let mut table = ScoreTable {
            benchmark: benchmark.clone(),
            protocol: protocol.clone(),
            split: split.clone(),
            words: texts(&rows, "description").into_iter().next().unwrap_or_default(),
            size: String::new(),
            columns: Vec::new(),
            groups: Vec::new(),
            left_out: all.len() - metrics.len(),
        };
        if let [language] = &languages[..] {
            table.size = format!("{language}{}{}", if language.is_empty() { "" } else { ": " }, size(&rows));
            table.columns =
                metrics.iter().map(|metric| Column { title: words::metric(metric), note: String::new() }).collect();
            table
                .groups
                .push(ScoreGroup { title: String::new(), rows: score_rows(&rows, contestants, "metric", &metrics)? });
        } else {
            for language in &languages {
                let pool = most(&rows_where(&rows, &[("language", language)])?, "pool");
                table.columns.push(Column { title: language.clone(), note: format!("pool {}", count(pool)) });
            }
            for metric in &metrics {
                let rows = score_rows(&rows_where(&rows, &[("metric", metric)])?, contestants, "language", &languages)?;
                table.groups.push(ScoreGroup { title: words::metric(metric), rows });
            }
        }
        tables.push(table);
    }
    Ok(tables)
}

fn most(rows: &DataFrame, column: &str) -> u64 {
    numbers(rows, column).into_iter().fold(0.0, f64::max) as u64
}

fn size(rows: &DataFrame) -> String {
    format!("{} queries, each against a pool of {} documents", count(most(rows, "queries")), count(most(rows, "pool")))
}

/// One row a contestant; a cell for each of `wanted` values of the column `across`.
fn score_rows(rows: &DataFrame, contestants: &[Contestant], across: &str, wanted: &[String]) -> Result<Vec<ScoreRow>> {
    let there = texts(rows, "contestant");
    let mut table = Vec::new();
    let mut values: Vec<Vec<f64>> = Vec::new();
    for contestant in contestants.iter().filter(|contestant| there.contains(&contestant.key)) {
        let rows = rows_where(rows, &[("contestant", &contestant.key)])?;
        let names = texts(&rows, across);
        let columns = ["value", "low", "high"].map(|column| numbers(&rows, column));
        let places: Vec<Option<usize>> =
            wanted.iter().map(|name| names.iter().position(|known| known == name)).collect();
        values.push(places.iter().map(|row| row.map_or(f64::NAN, |row| columns[0][row])).collect());
        let cell = |row: usize| ScoreCell {
            value: fraction(columns[0][row]),
            interval: interval(columns[1][row], columns[2][row]),
            best: false,
        };
        let own = matches!(contestant.role, ContestantRole::Trained | ContestantRole::Fused);
        let cells = places.into_iter().map(|row| row.map_or_else(ScoreCell::default, cell)).collect();
        table.push(ScoreRow { label: contestant.label.clone(), color: contestant.color, own, cells });
    }
    for column in 0..wanted.len() {
        let best =
            values.iter().map(|row| row[column]).filter(|value| value.is_finite()).fold(f64::NEG_INFINITY, f64::max);
        for (row, own_values) in table.iter_mut().zip(&values) {
            row.cells[column].best = values.len() > 1 && own_values[column] == best;
        }
    }
    Ok(table)
}

/// Every number of one benchmark.
#[derive(Debug, Serialize)]
pub struct DetailTable {
    /// The benchmark and its version.
    pub title: String,
    /// One row a number.
    pub rows: Vec<DetailRow>,
    /// Whether it is so long that it starts closed.
    pub long: bool,
    /// Whether ties move any number of it.
    pub ties: bool,
}

/// One number with everything that belongs to it.
#[derive(Debug, Serialize)]
pub struct DetailRow {
    /// Whether the protocol, language or split differs from the row before.
    pub first: bool,
    /// `protocol · split · language`.
    pub place: String,
    /// Metric in words.
    pub metric: String,
    /// Whether the metric differs from the row before.
    pub first_metric: bool,
    /// Who.
    pub label: String,
    /// Number of its color's class.
    pub color: usize,
    /// Pool size.
    pub pool: String,
    /// Number of queries.
    pub queries: String,
    /// The value.
    pub value: String,
    /// Its 95 % interval.
    pub interval: String,
    /// Worst, expected and best value over all orders of ties; empty where ties move nothing.
    pub ties: String,
    /// The value without duplicate documents.
    pub deduplicated: String,
}

/// Makes the full list of each benchmark.
pub fn details(run: &Run, frames: &Frames, contestants: &[Contestant]) -> Result<Vec<DetailTable>> {
    let mut tables = Vec::new();
    for benchmark in distinct(&frames.scores, &["benchmark"]).into_iter().flatten() {
        let rows = detail_rows(&rows_where(&frames.scores, &[("benchmark", &benchmark)])?, contestants);
        let mut versions: Vec<String> = run
            .outcomes
            .iter()
            .filter(|outcome| outcome.benchmark == benchmark)
            .map(|outcome| outcome.version.to_string())
            .collect();
        versions.dedup();
        let title = format!("{benchmark}, version {}", versions.join(" and "));
        tables.push(DetailTable {
            title,
            long: rows.len() > 60,
            ties: rows.iter().any(|row| !row.ties.is_empty()),
            rows,
        });
    }
    Ok(tables)
}

fn detail_rows(frame: &DataFrame, contestants: &[Contestant]) -> Vec<DetailRow> {
    let names = ["protocol", "split", "language", "metric", "contestant"].map(|column| texts(frame, column));
    let columns = ["pool", "queries", "value", "low", "high", "tie_worst", "tie_expected", "tie_best", "deduplicated"]
        .map(|column| numbers(frame, column));
    let places = distinct(frame, &["protocol", "split", "language"]);
    let mut order: Vec<usize> = (0..frame.height()).collect();
    order.sort_by_key(|row| {
        let [protocol, split, language, metric, contestant] = [0, 1, 2, 3, 4].map(|column: usize| &names[column][*row]);
        let place =
            places.iter().position(|place| place[0] == *protocol && place[1] == *split && place[2] == *language);
        (place, words::metric_order(metric), contestants.iter().position(|known| known.key == *contestant))
    });
    let mut rows: Vec<DetailRow> = Vec::new();
    for row in order {
        let [pool, queries, value, low, high, worst, expected, best, deduplicated] =
            [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|column: usize| columns[column][row]);
        let place: Vec<&str> = [0, 1, 2]
            .iter()
            .map(|column: &usize| names[*column][row].as_str())
            .filter(|text| !text.is_empty())
            .collect();
        let place = place.join(" · ");
        let metric = words::metric(&names[3][row]);
        let first = rows.last().is_none_or(|before| before.place != place);
        let who = contestants.iter().find(|contestant| contestant.key == names[4][row]);
        rows.push(DetailRow {
            first,
            first_metric: first || rows.last().is_none_or(|before| before.metric != metric),
            place,
            metric,
            label: who.map(|contestant| contestant.label.clone()).unwrap_or_default(),
            color: who.map(|contestant| contestant.color).unwrap_or_default(),
            pool: count(pool as u64),
            queries: count(queries as u64),
            value: fraction(value),
            interval: interval(low, high),
            ties: if best - worst > 1e-9 {
                format!("{} / {} / {}", fraction(worst), fraction(expected), fraction(best))
            } else {
                String::new()
            },
            deduplicated: if deduplicated.is_finite() { fraction(deduplicated) } else { String::new() },
        });
    }
    rows
}
