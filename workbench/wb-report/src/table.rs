//! Tables of scores: the summary (contestants against metrics) and the full list with ties and de-duplicated values.

use serde::Serialize;
use wb_core::{
    distinct,
    records::outcome::{ContestantRole, ProtocolScore},
};

use crate::{
    contestants::{Contestant, named},
    gather::RunContents,
    numbers::{count, fraction, interval},
    run_tables::{RunTables, ScoreEntry, Under},
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
    /// Description of the protocol in words.
    pub words: String,
    /// Language, pool and queries, where there is one language.
    pub size: String,
    /// Metrics or languages.
    pub columns: Vec<ScoreColumn>,
    /// The rows.
    pub groups: Vec<ScoreGroup>,
    /// Number of metrics that are only in the full list.
    pub left_out: usize,
}

/// A column of a summary.
#[derive(Debug, Serialize)]
pub struct ScoreColumn {
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
    pub rows: Vec<ContestantRow>,
}

/// One contestant's numbers.
#[derive(Debug, Serialize)]
pub struct ContestantRow {
    /// Its name.
    pub label: String,
    /// Number of its color's class.
    pub color: usize,
    /// True where the run made it.
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
    /// True where it is the highest of its column.
    pub best: bool,
}

/// Makes the summary tables, one a protocol, in the order of the outcomes.
pub fn summaries(tables: &RunTables, contestants: &[Contestant]) -> Vec<ScoreTable> {
    let all = distinct(tables.scores.iter().map(|entry| entry.under));
    let rows = |under| tables.scores.iter().filter(|entry| entry.under == under).copied().collect::<Vec<_>>();
    all.into_iter().map(|under| summary(&rows(under), contestants)).collect()
}

/// One table, of numbers of one protocol; there is at least one.
fn summary(rows: &[ScoreEntry], contestants: &[Contestant]) -> ScoreTable {
    let [benchmark, protocol, split] = rows[0].under.map(str::to_owned);
    let all = distinct(rows.iter().map(|row| row.score.metric.as_str()));
    let metrics = words::headline(&all);
    let languages = distinct(rows.iter().map(|row| row.score.language.as_str()));
    let mut table = ScoreTable {
        benchmark,
        protocol,
        split,
        words: rows[0].score.description.clone(),
        size: String::new(),
        columns: Vec::new(),
        groups: Vec::new(),
        left_out: all.len() - metrics.len(),
    };
    if let [language] = languages[..] {
        table.size = format!("{language}{}{}", if language.is_empty() { "" } else { ": " }, size(rows));
        table.columns =
            metrics.iter().map(|metric| ScoreColumn { title: words::metric(metric), note: String::new() }).collect();
        let rows = score_rows(rows, contestants, &metrics, |row| &row.score.metric);
        table.groups.push(ScoreGroup { title: String::new(), rows });
    } else {
        for language in &languages {
            let pool = rows.iter().filter(|row| row.score.language == *language).map(|row| row.score.pool).max();
            let note = format!("pool {}", count(pool.unwrap_or_default()));
            table.columns.push(ScoreColumn { title: (*language).to_owned(), note });
        }
        for metric in metrics {
            let of_metric: Vec<ScoreEntry> = rows.iter().filter(|row| row.score.metric == metric).copied().collect();
            let rows = score_rows(&of_metric, contestants, &languages, |row| &row.score.language);
            table.groups.push(ScoreGroup { title: words::metric(metric), rows });
        }
    }
    table
}

fn size(rows: &[ScoreEntry]) -> String {
    let queries = rows.iter().map(|row| row.score.n_queries).max().unwrap_or_default();
    let pool = rows.iter().map(|row| row.score.pool).max().unwrap_or_default();
    format!("{} queries, each against a pool of {} documents", count(queries), count(pool))
}

/// One row a contestant; a cell for each of the `wanted` names of metrics or languages.
fn score_rows(
    rows: &[ScoreEntry],
    contestants: &[Contestant],
    wanted: &[&str],
    name: for<'s> fn(&ScoreEntry<'s>) -> &'s str,
) -> Vec<ContestantRow> {
    let mut table = Vec::new();
    let mut values: Vec<Vec<f64>> = Vec::new();
    for contestant in contestants {
        let own: Vec<&ScoreEntry> = rows.iter().filter(|row| row.contestant == contestant.key).collect();
        if own.is_empty() {
            continue;
        }
        let places = wanted.iter().map(|wanted| own.iter().find(|row| name(row) == *wanted).map(|row| row.score));
        let places: Vec<Option<&ProtocolScore>> = places.collect();
        values.push(places.iter().map(|score| score.map_or(f64::NAN, |score| score.value)).collect());
        let cell = |score: &ProtocolScore| ScoreCell {
            value: fraction(score.value),
            interval: interval(score.interval),
            best: false,
        };
        let own = matches!(contestant.role, ContestantRole::Trained | ContestantRole::Fused);
        let cells = places.into_iter().map(|score| score.map_or_else(ScoreCell::default, cell)).collect();
        table.push(ContestantRow { label: contestant.label.clone(), color: contestant.color, own, cells });
    }
    for column in 0..wanted.len() {
        let best =
            values.iter().map(|row| row[column]).filter(|value| value.is_finite()).fold(f64::NEG_INFINITY, f64::max);
        for (row, own_values) in table.iter_mut().zip(&values) {
            row.cells[column].best = values.len() > 1 && own_values[column] == best;
        }
    }
    table
}

/// Every number of one benchmark.
#[derive(Debug, Serialize)]
pub struct DetailTable {
    /// The benchmark and its version.
    pub title: String,
    /// One row a number.
    pub rows: Vec<DetailRow>,
    /// True where it is so long that it starts closed.
    pub long: bool,
    /// True where ties move any number of it.
    pub ties: bool,
}

/// One number with everything that belongs to it.
#[derive(Debug, Serialize)]
pub struct DetailRow {
    /// True where the protocol, language or split differs from the row before.
    pub first: bool,
    /// `protocol · split · language`.
    pub place: String,
    /// Metric in words.
    pub metric: String,
    /// True where the metric differs from the row before.
    pub first_metric: bool,
    /// Name of the contestant.
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
pub fn details(run: &RunContents, tables: &RunTables, contestants: &[Contestant]) -> Vec<DetailTable> {
    let benchmarks = distinct(tables.scores.iter().map(|entry| entry.under[0]));
    let table = |benchmark| {
        let rows: Vec<ScoreEntry> = tables.scores.iter().filter(|entry| entry.under[0] == benchmark).copied().collect();
        let rows = detail_rows(rows, contestants);
        let of_benchmark = run.outcomes.iter().filter(|outcome| outcome.benchmark == benchmark);
        let mut versions: Vec<String> = of_benchmark.map(|outcome| outcome.version.to_string()).collect();
        versions.dedup();
        DetailTable {
            title: format!("{benchmark}, version {}", versions.join(" and ")),
            long: rows.len() > 60,
            ties: rows.iter().any(|row| !row.ties.is_empty()),
            rows,
        }
    };
    benchmarks.into_iter().map(table).collect()
}

fn place_of<'a>(entry: &ScoreEntry<'a>) -> (Under<'a>, &'a str) {
    (entry.under, &entry.score.language)
}

fn detail_rows(mut entries: Vec<ScoreEntry>, contestants: &[Contestant]) -> Vec<DetailRow> {
    let places = distinct(entries.iter().map(place_of));
    entries.sort_by_key(|entry| {
        let at = places.iter().position(|known| *known == place_of(entry));
        let who = contestants.iter().position(|known| known.key == entry.contestant);
        (at, words::metric_order(&entry.score.metric), who)
    });
    let mut rows: Vec<DetailRow> = Vec::new();
    for ScoreEntry { under: [_, protocol, split], contestant, score } in entries {
        let place = [protocol, split, &score.language].into_iter().filter(|text| !text.is_empty());
        let place = place.collect::<Vec<_>>().join(" · ");
        let metric = words::metric(&score.metric);
        let first = rows.last().is_none_or(|before| before.place != place);
        let who = named(contestants, contestant);
        let moved = score.tie_best - score.tie_worst > 1e-9;
        let ties = [score.tie_worst, score.tie_expected, score.tie_best].map(fraction).join(" / ");
        rows.push(DetailRow {
            first,
            first_metric: first || rows.last().is_none_or(|before| before.metric != metric),
            place,
            metric,
            label: who.map(|contestant| contestant.label.clone()).unwrap_or_default(),
            color: who.map(|contestant| contestant.color).unwrap_or_default(),
            pool: count(score.pool),
            queries: count(score.n_queries),
            value: fraction(score.value),
            interval: interval(score.interval),
            ties: if moved { ties } else { String::new() },
            deduplicated: score.deduplicated.filter(|value| value.is_finite()).map(fraction).unwrap_or_default(),
        });
    }
    rows
}
