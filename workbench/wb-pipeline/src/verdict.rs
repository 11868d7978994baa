//! The verdict: the trained encoder against BM25, in one line.

use anyhow::Result;
use wb_bench::{OutcomeComparison, compare};
use wb_core::{
    Seed,
    records::{
        compare::{PairedTest, VerdictFile},
        outcome::{ContestantOutcome, ContestantRole},
    },
    run_dir::write_json,
    statistics::Comparison,
};

use super::{bench::MeasuredBenchmark, train::OpenRun};

/// Compares, writes `compare.json` and `verdict.json`, and gives the line. `None` where there is nothing to compare.
pub fn verdict(run: &OpenRun, measured: &[MeasuredBenchmark], seed: Seed) -> Result<Option<String>> {
    let mut tests = Vec::new();
    let mut said = None;
    for benchmark in measured {
        let find = |role| benchmark.outcomes.iter().find(|outcome| outcome.role == role);
        let Some(trained) = find(ContestantRole::Trained) else { continue };
        let bm25 = find(ContestantRole::Bm25);
        for other in bm25.into_iter().chain(find(ContestantRole::Untrained)) {
            let comparison = compare(other, trained, benchmark.main, seed)?;
            // The baseline to beat is BM25, and without it the encoder before training.
            if said.is_none() {
                said = Some(VerdictFile { verdict: comparison.verdict, line: one_line(&comparison) });
            }
            tests.extend(shown(comparison, other.role == ContestantRole::Bm25));
        }
        if let (Some(bm25), Some(fused)) = (bm25, find(ContestantRole::Fused)) {
            tests.extend(shown(compare(bm25, fused, benchmark.main, seed)?, false));
            tests.extend(shown(compare(trained, fused, benchmark.main, seed)?, false));
        }
    }
    write_json(&run.dir.compare(), &tests)?;
    if let Some(verdict) = &said {
        write_json(&run.dir.verdict(), verdict)?;
    }
    Ok(said.map(|verdict| verdict.line))
}

/// Every row, or only those of the main metric: dozens of rows would hide the few that people ask about.
fn shown(comparison: OutcomeComparison, every: bool) -> impl Iterator<Item = PairedTest> {
    let main = comparison.rows[comparison.main].metric.clone();
    comparison.rows.into_iter().filter(move |row| every || row.metric == main)
}

/// `VERDICT: WIN mrr .5121 of trained against .3710 of bm25 ...`
pub fn one_line(comparison: &OutcomeComparison) -> String {
    let row = &comparison.rows[comparison.main];
    let Comparison { difference, interval, p_value, .. } = row.comparison;
    let p = if p_value < 0.001 { "p < .001".to_owned() } else { format!("p = {p_value:.3}") };
    format!(
        "VERDICT: {} {} {} {:.4} of {} against {:.4} of {}: {difference:+.4} {interval:+.4}, {p}, {} queries",
        comparison.verdict,
        row.protocol,
        row.metric,
        row.candidate_value,
        row.candidate,
        row.baseline_value,
        row.baseline,
        row.n_queries
    )
}

/// Two outcomes of one benchmark.
pub fn of_outcomes(
    baseline: &ContestantOutcome,
    candidate: &ContestantOutcome,
    seed: Seed,
) -> Result<OutcomeComparison> {
    let main = wb_bench::BenchmarkConfig::named(&candidate.benchmark)?;
    Ok(compare(baseline, candidate, main.benchmark().card().main, seed)?)
}
