//! A run's numbers as charts and score tables ask for them. One run has a few hundred of them, which structs hold.

use wb_core::records::{journal::ValidationRecord, outcome::ProtocolScore};

use crate::{
    gather::RunContents,
    stages::{self, Begin},
};

/// The tables of one run.
#[derive(Debug)]
pub struct RunTables<'a> {
    /// The journal of training.
    pub steps: StepColumns,
    /// One record a validation.
    pub validations: &'a [ValidationRecord],
    /// One entry a number, in the order of the outcomes.
    pub scores: Vec<ScoreEntry<'a>>,
    /// One entry a contestant and protocol that keeps its ranks.
    pub ranks: Vec<RankCounts<'a>>,
    /// Beginnings of the stages of a curriculum; empty where there is one stage only.
    pub stages: Vec<Begin>,
}

/// The journal of training, one value a step in each column.
#[derive(Debug)]
pub struct StepColumns {
    /// Number of the step.
    pub step: Vec<f64>,
    /// Mean loss of the batch.
    pub loss: Vec<f64>,
    /// Moving average of the loss.
    pub smooth: Vec<f64>,
    /// Learning rate of the first parameter group.
    pub learning_rate: Vec<f64>,
    /// Number of steps that the moving average is over.
    pub smoothing: usize,
}

/// Benchmark, protocol and split: what numbers of one table share.
pub type Under<'a> = [&'a str; 3];

/// One number, with who got it where.
#[derive(Debug, Clone, Copy)]
pub struct ScoreEntry<'a> {
    /// Benchmark, protocol and split.
    pub under: Under<'a>,
    /// Name of the contestant.
    pub contestant: &'a str,
    /// The record of the number.
    pub score: &'a ProtocolScore,
}

/// Number of queries in each bin of ranks.
#[derive(Debug)]
pub struct RankCounts<'a> {
    /// Benchmark, protocol and split.
    pub under: Under<'a>,
    /// Name of the contestant.
    pub contestant: &'a str,
    /// Queries by the bin of their answer's rank; the last bin holds the answers that were not found.
    pub bins: [u64; RANK_BINS.len() + 1],
}

/// Upper ends of the bins of ranks; the last bin is open, and one more holds the answers that were not found.
pub const RANK_BINS: [u64; 7] = [1, 3, 10, 30, 100, 300, u64::MAX];

impl<'a> RunTables<'a> {
    /// Makes the tables.
    pub fn new(run: &'a RunContents) -> Self {
        Self {
            steps: steps(run),
            validations: &run.validations,
            scores: scores(run),
            ranks: ranks(run),
            stages: stages::begins(run),
        }
    }
}

fn steps(run: &RunContents) -> StepColumns {
    let smoothing = (run.steps.len() / 50).clamp(1, 200);
    let loss: Vec<f64> = run.steps.iter().map(|record| record.loss).collect();
    StepColumns {
        step: run.steps.iter().map(|record| record.step as f64).collect(),
        smooth: smoothed(&loss, smoothing),
        loss,
        learning_rate: run.steps.iter().map(|record| record.learning_rate).collect(),
        smoothing,
    }
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

fn scores(run: &RunContents) -> Vec<ScoreEntry<'_>> {
    let mut entries = Vec::new();
    for outcome in &run.outcomes {
        entries.extend(outcome.protocols.iter().map(|score| ScoreEntry {
            under: [&outcome.benchmark, &score.id, &score.split],
            contestant: &outcome.contestant,
            score,
        }));
    }
    entries
}

/// Counts ranks by bin. The ranks of a protocol stand with each of its metrics; the first metric that has them gives them.
/// Where a protocol has a language `all`, the others are parts of it and left out.
fn ranks(run: &RunContents) -> Vec<RankCounts<'_>> {
    let mut counted: Vec<RankCounts> = Vec::new();
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
            let (under, contestant) = ([&*outcome.benchmark, &*score.id, &*score.split], &*outcome.contestant);
            let at = counted.iter().position(|known| known.under == under && known.contestant == contestant);
            let at = at.unwrap_or_else(|| {
                counted.push(RankCounts { under, contestant, bins: Default::default() });
                counted.len() - 1
            });
            for query in &score.queries {
                counted[at].bins[rank_bin(query.rank)] += 1;
            }
        }
    }
    counted
}

/// The index of a rank's bin; rank 0 (not found) has the bin after the last.
fn rank_bin(rank: u64) -> usize {
    if rank == 0 {
        return RANK_BINS.len();
    }
    RANK_BINS.iter().position(|end| rank <= *end).unwrap_or(RANK_BINS.len() - 1)
}

#[cfg(test)]
mod tests {
    use wb_core::records::outcome::{ContestantOutcome, QueryRank};

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
        let score = |language: &str, metric: &str, queries: Vec<QueryRank>| ProtocolScore {
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
        let run = RunContents {
            outcomes: vec![ContestantOutcome { contestant: "bm25".into(), protocols, ..ContestantOutcome::default() }],
            ..RunContents::default()
        };
        let tables = RunTables::new(&run);
        assert_eq!(tables.ranks.len(), 1);
        assert_eq!(tables.ranks[0].bins, [2, 1, 1, 0, 0, 1, 1, 1]);
        assert_eq!(tables.scores.len(), 3);
    }

    #[test]
    fn an_empty_run_has_empty_tables() {
        let run = RunContents::default();
        let tables = RunTables::new(&run);
        assert!(tables.steps.loss.is_empty() && tables.scores.is_empty() && tables.ranks.is_empty());
    }
}
