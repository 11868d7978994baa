//! The run as tables in memory (Polars, eager): what charts and score tables are made from.

use polars::prelude::*;

use crate::{
    Error, Result,
    gather::Run,
    stages::{self, Begin},
};

/// The tables of one run.
#[derive(Debug)]
pub struct Frames {
    /// One row an optimizer step: `step`, `epoch`, `loss`, `smooth`, `learning_rate`, `pairs`, `tokens`.
    pub steps: DataFrame,
    /// One row a validation: `step`, `mrr`, `recall_at_1`, `best`.
    pub validations: DataFrame,
    /// One row a number: `benchmark`, `protocol`, `description`, `split`, `language`, `metric`, `contestant`, `pool`, `queries`,
    /// `value`, `low`, `high`, `tie_best`, `tie_expected`, `tie_worst`, `deduplicated`.
    pub scores: DataFrame,
    /// One row a bin of ranks: `benchmark`, `protocol`, `split`, `contestant`, `bin`, `queries`.
    pub rank_bins: DataFrame,
    /// Where the stages of a curriculum begin; nothing where there is one stage only.
    pub stages: Vec<Begin>,
    /// Over how many steps the loss is smoothed.
    pub smoothing: usize,
}

/// Upper ends of the bins of ranks; the last bin is open, and one more holds the answers that were not found.
pub const RANK_BINS: [u64; 7] = [1, 3, 10, 30, 100, 300, u64::MAX];

impl Frames {
    /// Makes the tables.
    pub fn new(run: &Run) -> Result<Self> {
        let smoothing = (run.steps.len() / 50).clamp(1, 200);
        Ok(Self {
            steps: steps(run, smoothing).map_err(Error::frame("steps"))?,
            validations: validations(run).map_err(Error::frame("validations"))?,
            scores: scores(run).map_err(Error::frame("scores"))?,
            rank_bins: rank_bins(run).map_err(Error::frame("rank_bins"))?,
            stages: stages::begins(run),
            smoothing,
        })
    }
}

fn steps(run: &Run, smoothing: usize) -> PolarsResult<DataFrame> {
    let loss: Vec<f64> = run.steps.iter().map(|record| record.loss).collect();
    df!(
        "step" => run.steps.iter().map(|record| record.step as f64).collect::<Vec<_>>(),
        "epoch" => run.steps.iter().map(|record| record.epoch).collect::<Vec<_>>(),
        "smooth" => smoothed(&loss, smoothing),
        "loss" => loss,
        "learning_rate" => run.steps.iter().map(|record| record.learning_rate).collect::<Vec<_>>(),
        "pairs" => run.steps.iter().map(|record| record.pairs).collect::<Vec<_>>(),
        "tokens" => run.steps.iter().map(|record| record.tokens).collect::<Vec<_>>(),
    )
}

/// Exponential moving average with weight 2/(n+1) for the newest value, divided by the sum of the weights so far,
/// so that it starts at the first value. Values that are no numbers are passed over.
fn smoothed(values: &[f64], n: usize) -> Vec<f64> {
    let keep = 1.0 - 2.0 / (n as f64 + 1.0);
    let (mut sum, mut weight) = (0.0, 0.0);
    values
        .iter()
        .map(|value| {
            if value.is_finite() {
                sum = keep * sum + value;
                weight = keep * weight + 1.0;
            }
            if weight > 0.0 { sum / weight } else { f64::NAN }
        })
        .collect()
}

fn validations(run: &Run) -> PolarsResult<DataFrame> {
    df!(
        "step" => run.validations.iter().map(|record| record.step as f64).collect::<Vec<_>>(),
        "mrr" => run.validations.iter().map(|record| record.mrr).collect::<Vec<_>>(),
        "recall_at_1" => run.validations.iter().map(|record| record.recall_at_1).collect::<Vec<_>>(),
        "best" => run.validations.iter().map(|record| record.best).collect::<Vec<_>>(),
    )
}

fn scores(run: &Run) -> PolarsResult<DataFrame> {
    let rows: Vec<_> =
        run.outcomes.iter().flat_map(|outcome| outcome.protocols.iter().map(move |score| (outcome, score))).collect();
    df!(
        "benchmark" => rows.iter().map(|(outcome, _)| outcome.benchmark.as_str()).collect::<Vec<_>>(),
        "contestant" => rows.iter().map(|(outcome, _)| outcome.contestant.as_str()).collect::<Vec<_>>(),
        "protocol" => rows.iter().map(|(_, score)| score.id.as_str()).collect::<Vec<_>>(),
        "description" => rows.iter().map(|(_, score)| score.description.as_str()).collect::<Vec<_>>(),
        "split" => rows.iter().map(|(_, score)| score.split.as_str()).collect::<Vec<_>>(),
        "language" => rows.iter().map(|(_, score)| score.language.as_str()).collect::<Vec<_>>(),
        "metric" => rows.iter().map(|(_, score)| score.metric.as_str()).collect::<Vec<_>>(),
        "pool" => rows.iter().map(|(_, score)| score.pool).collect::<Vec<_>>(),
        "queries" => rows.iter().map(|(_, score)| score.n_queries).collect::<Vec<_>>(),
        "value" => rows.iter().map(|(_, score)| score.value).collect::<Vec<_>>(),
        "low" => rows.iter().map(|(_, score)| score.low).collect::<Vec<_>>(),
        "high" => rows.iter().map(|(_, score)| score.high).collect::<Vec<_>>(),
        "tie_best" => rows.iter().map(|(_, score)| score.tie_best).collect::<Vec<_>>(),
        "tie_expected" => rows.iter().map(|(_, score)| score.tie_expected).collect::<Vec<_>>(),
        "tie_worst" => rows.iter().map(|(_, score)| score.tie_worst).collect::<Vec<_>>(),
        "deduplicated" => rows.iter().map(|(_, score)| score.deduplicated).collect::<Vec<_>>(),
    )
}

/// Counts ranks by bin. The ranks of a protocol stand with each of its metrics; the first metric that has them gives them.
/// Where a protocol has a language `all`, the others are parts of it and left out.
fn rank_bins(run: &Run) -> PolarsResult<DataFrame> {
    let mut keys: [Vec<&str>; 4] = Default::default();
    let mut bins: Vec<u32> = Vec::new();
    for outcome in &run.outcomes {
        let mut seen: Vec<(&str, &str, &str)> = Vec::new();
        for score in &outcome.protocols {
            let place = (score.id.as_str(), score.split.as_str(), score.language.as_str());
            let part_of_all = score.language != "all"
                && outcome.protocols.iter().any(|other| {
                    other.id == score.id
                        && other.split == score.split
                        && other.language == "all"
                        && !other.queries.is_empty()
                });
            if score.queries.is_empty() || part_of_all || seen.contains(&place) {
                continue;
            }
            seen.push(place);
            for query in &score.queries {
                for (key, value) in
                    keys.iter_mut().zip([&outcome.benchmark, &score.id, &score.split, &outcome.contestant])
                {
                    key.push(value);
                }
                bins.push(rank_bin(query.rank));
            }
        }
    }
    let [benchmark, protocol, split, contestant] = keys;
    let ranks = df!("benchmark" => benchmark, "protocol" => protocol, "split" => split, "contestant" => contestant, "bin" => &bins, "queries" => &bins)?;
    if ranks.height() == 0 {
        return Ok(ranks);
    }
    let mut counted =
        ranks.group_by_stable(["benchmark", "protocol", "split", "contestant", "bin"])?.select(["queries"]).count()?;
    counted.rename("queries_count", "queries".into())?;
    Ok(counted)
}

/// The index of a rank's bin; rank 0 (not found) has the bin after the last.
fn rank_bin(rank: u64) -> u32 {
    if rank == 0 {
        return RANK_BINS.len() as u32;
    }
    RANK_BINS.iter().position(|end| rank <= *end).unwrap_or(RANK_BINS.len() - 1) as u32
}

/// A column of texts.
pub fn texts(frame: &DataFrame, column: &str) -> Vec<String> {
    match frame.column(column).and_then(|column| column.str()) {
        Ok(column) => column.iter().map(|text| text.unwrap_or_default().to_owned()).collect(),
        Err(_) => Vec::new(),
    }
}

/// A column of numbers; what is missing is not a number.
pub fn numbers(frame: &DataFrame, column: &str) -> Vec<f64> {
    match frame.column(column).and_then(|column| column.cast(&DataType::Float64)) {
        Ok(column) => match column.f64() {
            Ok(column) => column.iter().map(|number| number.unwrap_or(f64::NAN)).collect(),
            Err(_) => Vec::new(),
        },
        Err(_) => Vec::new(),
    }
}

/// The rows whose columns have these texts.
pub fn rows_where(frame: &DataFrame, wanted: &[(&str, &str)]) -> Result<DataFrame> {
    let mut rows = frame.clone();
    for (column, text) in wanted {
        let mask = rows.column(column).and_then(|column| column.str()).map_err(Error::frame("rows"))?.equal(*text);
        rows = rows.filter(&mask).map_err(Error::frame("rows"))?;
    }
    Ok(rows)
}

/// The different values of text columns, in the order in which they first stand.
pub fn distinct(frame: &DataFrame, columns: &[&str]) -> Vec<Vec<String>> {
    let values: Vec<Vec<String>> = columns.iter().map(|column| texts(frame, column)).collect();
    let mut seen: Vec<Vec<String>> = Vec::new();
    for row in 0..frame.height() {
        let key: Vec<String> = values.iter().filter_map(|column| column.get(row).cloned()).collect();
        if !seen.contains(&key) {
            seen.push(key);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use wb_core::records::outcome::{Outcome, ProtocolScore, QueryRank};

    use super::*;

    #[test]
    fn smoothing_starts_at_the_first_value() {
        assert_eq!(smoothed(&[4.0, 4.0, 4.0], 3), [4.0, 4.0, 4.0]);
        // Weight of the newest 2/(3+1): (0.5·4 + 1·1) / 1.5 = 2.
        assert_eq!(smoothed(&[4.0, f64::NAN, 1.0], 3), [4.0, 4.0, 2.0]);
    }

    #[test]
    fn ranks_fall_into_bins_and_all_stands_for_its_parts() {
        let ranks =
            |ranks: &[u64]| ranks.iter().map(|rank| QueryRank { rank: *rank, ..QueryRank::default() }).collect();
        let score = |language: &str, metric: &str, queries| ProtocolScore {
            id: "p".into(),
            language: language.into(),
            metric: metric.into(),
            queries,
            ..ProtocolScore::default()
        };
        let protocols = vec![
            score("ruby", "mrr", ranks(&[1, 2])),
            score("all", "mrr", ranks(&[1, 1, 3, 4, 300, 301, 0])),
            score("all", "ndcg", ranks(&[1, 1, 3, 4, 300, 301, 0])),
        ];
        let run = Run {
            outcomes: vec![Outcome { contestant: "bm25".into(), protocols, ..Outcome::default() }],
            ..Run::default()
        };
        let frames = Frames::new(&run).unwrap();
        assert_eq!(numbers(&frames.rank_bins, "bin"), [0.0, 1.0, 2.0, 5.0, 6.0, 7.0]);
        assert_eq!(numbers(&frames.rank_bins, "queries"), [2.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(frames.scores.height(), 3);
    }

    #[test]
    fn an_empty_run_has_empty_tables() {
        let frames = Frames::new(&Run::default()).unwrap();
        assert_eq!(frames.steps.height() + frames.scores.height() + frames.rank_bins.height(), 0);
        assert!(rows_where(&frames.scores, &[("metric", "mrr")]).unwrap().height() == 0);
    }
}
