//! The verdict: the trained encoder against BM25, in one line.

use anyhow::Result;
use serde::Serialize;
use wb_bench::{Comparison, Verdict, compare};
use wb_core::{Seed, records::outcome::Outcome, run_dir::write_json};

use super::{bench::Measured, train::Run};

/// One paired test, as the report reads it.
#[derive(Debug, Serialize)]
pub struct PairedTest {
    protocol: String,
    metric: String,
    language: String,
    a: String,
    b: String,
    difference: f64,
    low: f64,
    high: f64,
    p: f64,
    wins_ties_losses: [u64; 3],
}

#[derive(Debug, Serialize)]
struct VerdictFile<'a> {
    verdict: Verdict,
    line: &'a str,
}

/// Compares, writes `compare.json` and `verdict.json`, and gives the line. `None` where there is nothing to compare.
pub fn verdict(run: &Run, measured: &[Measured], seed: Seed) -> Result<Option<String>> {
    let mut tests = Vec::new();
    let mut line = None;
    for benchmark in measured {
        let find = |name: &str| benchmark.outcomes.iter().find(|outcome| outcome.contestant == name);
        let Some(trained) = find("trained") else { continue };
        for other in ["bm25", "untrained"].into_iter().filter_map(find) {
            let comparison = compare(other, trained, benchmark.main, seed)?;
            // The baseline to beat is BM25, and without it the encoder before training.
            if line.is_none() {
                line = Some((comparison.verdict, one_line(&comparison)));
            }
            tests.extend(paired_tests(&comparison, other.contestant == "bm25"));
        }
        if let (Some(bm25), Some(fused)) = (find("bm25"), find("bm25+trained")) {
            tests.extend(paired_tests(&compare(bm25, fused, benchmark.main, seed)?, false));
            tests.extend(paired_tests(&compare(trained, fused, benchmark.main, seed)?, false));
        }
    }
    write_json(&run.dir.compare(), &tests)?;
    if let Some((verdict, line)) = &line {
        write_json(&run.dir.verdict(), &VerdictFile { verdict: *verdict, line })?;
    }
    Ok(line.map(|(_, line)| line))
}

/// Every row, or only those of the main metric: dozens of rows would hide the few that people ask about.
fn paired_tests(comparison: &Comparison, every: bool) -> impl Iterator<Item = PairedTest> + '_ {
    let main = comparison.rows.get(comparison.main).map(|row| row.metric.as_str());
    let rows = comparison.rows.iter().filter(move |row| every || Some(row.metric.as_str()) == main);
    rows.map(|row| PairedTest {
        protocol: row.id.clone(),
        metric: row.metric.clone(),
        language: row.language.clone(),
        a: comparison.candidate.clone(),
        b: comparison.baseline.clone(),
        difference: row.difference,
        low: row.low,
        high: row.high,
        p: row.p_value,
        wins_ties_losses: row.wins_ties_losses,
    })
}

/// `VERDICT: WIN mrr .5121 of trained against .3710 of bm25 ...`
pub fn one_line(comparison: &Comparison) -> String {
    let Some(row) = comparison.rows.get(comparison.main) else {
        return format!("VERDICT: {}", comparison.verdict);
    };
    let p = if row.p_value < 0.001 { "p < .001".to_owned() } else { format!("p = {:.3}", row.p_value) };
    format!(
        "VERDICT: {} {} {} {:.4} of {} against {:.4} of {}: {:+.4} [{:+.4}, {:+.4}], {p}, {} queries",
        comparison.verdict,
        row.id,
        row.metric,
        row.candidate,
        comparison.candidate,
        row.baseline,
        comparison.baseline,
        row.difference,
        row.low,
        row.high,
        row.n_queries
    )
}

/// Two outcomes of one benchmark.
pub fn of_outcomes(baseline: &Outcome, candidate: &Outcome, seed: Seed) -> Result<Comparison> {
    let main = wb_bench::BenchmarkConfig::named(&candidate.benchmark)?;
    Ok(compare(baseline, candidate, main.benchmark().card().main, seed)?)
}
