//! Two outcomes of one benchmark: differences with paired intervals, p-values, and a verdict.

use std::collections::{HashMap, HashSet};

use wb_core::{
    Seed,
    records::{
        compare::{CompareVerdict, PairedTest},
        outcome::{ContestantOutcome, ProtocolScore},
    },
    statistics,
};

use crate::{Error, Result, benchmarks::stands_for};

/// A candidate against a baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeComparison {
    /// Every protocol and metric that both have; never empty.
    pub rows: Vec<PairedTest>,
    /// The position in `rows` of what the verdict is about.
    pub main: usize,
    /// Verdict of the main row.
    pub verdict: CompareVerdict,
    /// Protocols that only one of the two has, and queries that are not common.
    pub remarks: Vec<String>,
}

type Key<'a> = (&'a str, &'a str, &'a str, &'a str);

fn key(score: &ProtocolScore) -> Key<'_> {
    (&score.id, &score.language, &score.split, &score.metric)
}

/// Compares a candidate with a baseline. `main` lists protocol and metric of the verdict, the first that both have;
/// a protocol that ends with `-` stands for all that begin so. See [`crate::benchmarks::Card::main`].
pub fn compare(
    baseline: &ContestantOutcome,
    candidate: &ContestantOutcome,
    main: &[(&str, &str)],
    seed: Seed,
) -> Result<OutcomeComparison> {
    refuse_unlike(baseline, candidate)?;
    let of_baseline: HashMap<Key<'_>, &ProtocolScore> =
        baseline.protocols.iter().map(|score| (key(score), score)).collect();
    let mut rows = Vec::new();
    let mut remarks = Vec::new();
    for score in &candidate.protocols {
        match of_baseline.get(&key(score)) {
            Some(other) => rows.push(PairedTest {
                candidate: candidate.contestant.clone(),
                baseline: baseline.contestant.clone(),
                ..paired_test(other, score, seed, &mut remarks)?
            }),
            None => remarks.push(format!("{}: only {} has it", score.title(), candidate.contestant)),
        }
    }
    let of_candidate: HashSet<Key<'_>> = candidate.protocols.iter().map(key).collect();
    let only_baseline = baseline.protocols.iter().filter(|score| !of_candidate.contains(&key(score)));
    remarks.extend(only_baseline.map(|score| format!("{}: only {} has it", score.title(), baseline.contestant)));
    let position = main
        .iter()
        .find_map(|(id, metric)| rows.iter().position(|row| row.metric == *metric && stands_for(id, &row.protocol)));
    let Some(position) = position.or((!rows.is_empty()).then_some(0)) else {
        return Err(incomparable("no protocol and metric that both have"));
    };
    let verdict = CompareVerdict::of(rows[position].comparison.interval);
    Ok(OutcomeComparison { main: position, verdict, rows, remarks })
}

fn incomparable(differences: &str) -> Error {
    Error::failed(format!("these two measurements cannot be compared: {differences}"))
        .with_hint("measure both again on the same data with the same settings")
}

fn refuse_unlike(a: &ContestantOutcome, b: &ContestantOutcome) -> Result<()> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, a: &str, b: &str| {
        if a != b {
            differences.push(format!("{what} is {a} and {b}"));
        }
    };
    differ("the benchmark", &a.benchmark, &b.benchmark);
    differ("its version", &a.version.to_string(), &b.version.to_string());
    let short = |fingerprint: &str| fingerprint.chars().take(12).collect::<String>();
    differ("the data", &short(&a.dataset_fingerprint), &short(&b.dataset_fingerprint));
    let settings =
        |outcome: &ContestantOutcome| -> HashMap<String, String> { outcome.benchmark_settings().cloned().collect() };
    let (of_a, of_b) = (settings(a), settings(b));
    let mut names: Vec<&String> = of_a.keys().chain(of_b.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let value =
            |settings: &HashMap<String, String>| settings.get(name).cloned().unwrap_or_else(|| "not set".into());
        differ(&format!("setting {name}"), &value(&of_a), &value(&of_b));
    }
    if differences.is_empty() { Ok(()) } else { Err(incomparable(&differences.join("; "))) }
}

/// The test of one protocol and metric, without the contestants' names.
fn paired_test(
    baseline: &ProtocolScore,
    candidate: &ProtocolScore,
    seed: Seed,
    remarks: &mut Vec<String>,
) -> Result<PairedTest> {
    let of_baseline: HashMap<&str, f64> =
        baseline.queries.iter().map(|query| (query.id.as_str(), query.value)).collect();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for query in &candidate.queries {
        if let Some(value) = of_baseline.get(query.id.as_str()) {
            a.push(query.value);
            b.push(*value);
        }
    }
    let common = a.len();
    if common < candidate.queries.len().max(baseline.queries.len()) {
        remarks.push(format!(
            "{} {} {}: {common} of {} and {} queries are common",
            candidate.id,
            candidate.language,
            candidate.metric,
            baseline.queries.len(),
            candidate.queries.len()
        ));
    }
    Ok(PairedTest {
        protocol: candidate.id.clone(),
        language: candidate.language.clone(),
        split: candidate.split.clone(),
        metric: candidate.metric.clone(),
        n_queries: common as u64,
        baseline_value: baseline.value,
        candidate_value: candidate.value,
        comparison: statistics::compare(&a, &b, seed)?,
        ..PairedTest::default()
    })
}

#[cfg(test)]
mod tests {
    use wb_core::records::outcome::QueryRank;

    use super::*;

    fn outcome(contestant: &str, ranks: &[u64]) -> ContestantOutcome {
        let queries: Vec<QueryRank> = ranks
            .iter()
            .enumerate()
            .map(|(id, rank)| QueryRank { id: id.to_string(), rank: *rank, value: 1.0 / *rank as f64 })
            .collect();
        let value = queries.iter().map(|query| query.value).sum::<f64>() / queries.len() as f64;
        let score =
            ProtocolScore { id: "pairs-full".into(), metric: "mrr".into(), value, queries, ..ProtocolScore::default() };
        ContestantOutcome {
            benchmark: "pairs".into(),
            version: 1,
            contestant: contestant.into(),
            protocols: vec![score],
            ..ContestantOutcome::default()
        }
    }

    #[test]
    fn verdicts_follow_the_interval() {
        let ranks: Vec<u64> = (0..60).map(|i| 2 + i % 5).collect();
        let better: Vec<u64> = ranks.iter().map(|rank| rank - 1).collect();
        let mixed: Vec<u64> =
            ranks.iter().zip(0..).map(|(rank, i)| if i % 2 == 0 { rank - 1 } else { rank + 3 }).collect();
        let verdict = |a: &[u64], b: &[u64]| {
            compare(&outcome("a", a), &outcome("b", b), &[("pairs-full", "mrr")], Seed(1)).unwrap()
        };
        let win = verdict(&ranks, &better);
        let row = &win.rows[0].comparison;
        assert_eq!((win.verdict, row.wins_ties_losses), (CompareVerdict::Win, [60, 0, 0]));
        assert!(row.difference > 0.0 && row.p_value < 0.01);
        assert_eq!(verdict(&better, &ranks).verdict, CompareVerdict::Regression);
        assert_eq!(verdict(&ranks, &ranks).verdict, CompareVerdict::Marginal);
        assert_eq!(verdict(&ranks, &mixed).rows[0].n_queries, 60);
    }

    #[test]
    fn unlike_outcomes_are_refused_with_what_differs() {
        let (a, mut b) = (outcome("a", &[1, 2]), outcome("b", &[1, 2]));
        b.version = 2;
        b.dataset_fingerprint = "abc".into();
        b.settings = vec![("text".into(), "raw".into()), ("contestant.max_tokens".into(), "256".into())];
        let error = compare(&a, &b, &[], Seed(1)).unwrap_err().to_string();
        for part in ["its version is 1 and 2", "the data is  and abc", "setting text is not set and raw"] {
            assert!(error.contains(part), "{error}");
        }
        assert!(!error.contains("max_tokens"), "{error}");
    }
}
