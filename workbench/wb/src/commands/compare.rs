//! `wb compare`: two runs, or two files of `wb bench --json`.

use anyhow::{Result, bail};
use wb_bench::OutcomeComparison;
use wb_core::{Seed, records::compare::CompareVerdict};
use wb_pipeline::{
    compare::{in_pairs, outcomes},
    verdict,
};

use super::End;
use crate::{args, output};

/// `wb compare`
pub fn compare(arguments: &args::Compare) -> Result<End> {
    let runs = &arguments.places.runs;
    let (a, b) = (outcomes(&arguments.a, runs)?, outcomes(&arguments.b, runs)?);
    let mut end = End::Done;
    let (both, alone) = in_pairs(&a, &b);
    for name in alone {
        output::note(format!("{name}: no benchmark of {} reads the same data, not compared", arguments.b));
    }
    if both.is_empty() {
        bail!("{} and {} have no benchmark in common", arguments.a, arguments.b);
    }
    for (baseline, candidate) in both {
        let comparison = verdict::of_outcomes(baseline, candidate, Seed(17))?;
        print(&comparison);
        if arguments.no_worse && comparison.verdict == CompareVerdict::Regression {
            end = End::Refused;
        }
    }
    Ok(end)
}

fn print(comparison: &OutcomeComparison) {
    let rows: Vec<Vec<String>> = comparison
        .rows
        .iter()
        .map(|row| {
            let [wins, ties, losses] = row.wins_ties_losses;
            vec![
                format!("{} {} {}", row.protocol, row.language, row.metric),
                format!("{:.4}", row.baseline_value),
                format!("{:.4}", row.candidate_value),
                format!("{:+.4}", row.difference),
                format!("[{:+.4}, {:+.4}]", row.low, row.high),
                format!("{:.4}", row.p_value),
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
