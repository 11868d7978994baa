//! Outcomes that are compared: those of two runs, or of two files of `wb bench --json`.

use std::path::Path;

use anyhow::{Result, bail};
use wb_bench::OutcomeComparison;
use wb_core::{
    Error, RunDir,
    records::outcome::{ContestantOutcome, ContestantRole},
    run_dir::read_json,
    statistics::Comparison,
};

use crate::{manifest::quoted, output, verdict};

/// Outcomes that can be compared, and the names of those that cannot: the same benchmark on the same data, since a
/// benchmark may stand several times in a config. One that stands once on both sides is a pair whatever it read, so
/// that the comparison says what differs.
pub fn in_pairs<'o>(
    a: &'o [ContestantOutcome],
    b: &'o [ContestantOutcome],
) -> (Vec<(&'o ContestantOutcome, &'o ContestantOutcome)>, Vec<&'o str>) {
    let (mut both, mut alone) = (Vec::new(), Vec::new());
    for baseline in a {
        let is_same = |other: &&ContestantOutcome| other.benchmark == baseline.benchmark;
        let candidates: Vec<&ContestantOutcome> = b.iter().filter(is_same).collect();
        let on_same_data = candidates.iter().find(|other| other.dataset_fingerprint == baseline.dataset_fingerprint);
        match (on_same_data, candidates.as_slice()) {
            (Some(candidate), _) => both.push((baseline, *candidate)),
            (None, [only]) if a.iter().filter(is_same).count() == 1 => both.push((baseline, *only)),
            (None, []) => {}
            (None, _) => alone.push(baseline.benchmark.as_str()),
        }
    }
    (both, alone)
}

/// The outcomes of a file of `wb bench --json`, or those of a run's trained encoder.
pub fn outcomes(name: &str, runs: &Path) -> Result<Vec<ContestantOutcome>> {
    if Path::new(name).is_file() {
        // `wb bench` writes one outcome, or a list of several.
        return match read_json::<serde_json::Value>(Path::new(name))? {
            serde_json::Value::Array(_) => Ok(last_of_each(name, read_json(Path::new(name))?)),
            record if record.get("questions").is_some() => {
                bail!("{name} has verdicts on predicted SQL; files of benchmarks of retrieval are compared")
            }
            _ => Ok(vec![read_json(Path::new(name))?]),
        };
    }
    let run = RunDir::open(runs, name)?;
    let mut outcomes = Vec::new();
    for file in run.benches()? {
        let outcome: ContestantOutcome = read_json(&file)?;
        if outcome.role == ContestantRole::Trained {
            outcomes.push(outcome);
        }
    }
    if outcomes.is_empty() {
        // Without the run's name, a build that differs would begin a new one.
        let hint =
            format!("wb run {} --resume {}", quoted(run.config().display().to_string()), quoted(run.id().into()));
        return Err(Error::data(run.id(), "no benchmark of its trained encoder yet").with_hint(hint).into());
    }
    Ok(outcomes)
}

/// The last outcome on each data set: where `wb bench` measured BM25 beside an encoder, the encoder stands behind it.
fn last_of_each(name: &str, outcomes: Vec<ContestantOutcome>) -> Vec<ContestantOutcome> {
    let same = |a: &ContestantOutcome, b: &ContestantOutcome| {
        a.benchmark == b.benchmark && a.dataset_fingerprint == b.dataset_fingerprint
    };
    let is_last = |at: &usize| !outcomes[at + 1..].iter().any(|later| same(&outcomes[*at], later));
    let (kept, left): (Vec<usize>, Vec<usize>) = (0..outcomes.len()).partition(is_last);
    for at in left {
        output::note(format!("{name}: {} is not compared: another stands behind it", outcomes[at].contestant));
    }
    kept.into_iter().map(|at| outcomes[at].clone()).collect()
}

/// Prints every paired test of a comparison, its remarks and its verdict.
pub fn print(comparison: &OutcomeComparison) {
    let rows: Vec<Vec<String>> = comparison
        .rows
        .iter()
        .map(|row| {
            let Comparison { difference, interval, p_value, wins_ties_losses: [wins, ties, losses] } = row.comparison;
            vec![
                format!("{} {} {}", row.protocol, row.language, row.metric),
                format!("{:.4}", row.baseline_value),
                format!("{:.4}", row.candidate_value),
                format!("{difference:+.4}"),
                format!("{interval:+.4}"),
                format!("{p_value:.4}"),
                format!("{wins}/{ties}/{losses}"),
            ]
        })
        .collect();
    output::table(&["measure", "a", "b", "b - a", "95 % interval", "p", "better/equal/worse"], &rows);
    for remark in &comparison.remarks {
        output::note(remark);
    }
    output::line(verdict::one_line(comparison));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(benchmark: &str, data: &str, contestant: &str) -> ContestantOutcome {
        ContestantOutcome {
            benchmark: benchmark.to_owned(),
            dataset_fingerprint: data.to_owned(),
            contestant: contestant.to_owned(),
            ..ContestantOutcome::default()
        }
    }

    #[test]
    fn the_encoder_beside_bm25_is_compared() {
        let all = vec![outcome("pairs", "x", "bm25"), outcome("pairs", "x", "mine"), outcome("cosqa", "x", "bm25")];
        let kept = last_of_each("a.json", all);
        let names: Vec<&str> = kept.iter().map(|one| one.contestant.as_str()).collect();
        assert_eq!(names, ["mine", "bm25"]);
    }

    #[test]
    fn a_benchmark_that_stands_several_times_is_paired_by_its_data() {
        let a = [outcome("pairs", "x", "a1"), outcome("pairs", "y", "a2"), outcome("cosqa", "z", "a3")];
        let b = [outcome("cosqa", "w", "b1"), outcome("pairs", "y", "b2"), outcome("pairs", "x", "b3")];
        let names = |a: &[ContestantOutcome], b: &[ContestantOutcome]| -> Vec<String> {
            in_pairs(a, b).0.iter().map(|(one, other)| format!("{}-{}", one.contestant, other.contestant)).collect()
        };
        // Other data under the only benchmark of a name: the comparison itself refuses that, with what differs.
        assert_eq!(names(&a, &b), ["a1-b3", "a2-b2", "a3-b1"]);
        let other = [outcome("pairs", "q", "c1"), outcome("codesearchnet", "x", "c2")];
        assert_eq!(names(&a, &other), [""; 0]);
        assert_eq!(in_pairs(&a, &other).1, ["pairs", "pairs"]);
        assert_eq!(names(&a[2..], &a[2..]), ["a3-a3"]);
    }
}
