//! `wb compare`: two runs, or two files of `wb bench --json`.

use std::path::Path;

use anyhow::{Result, bail};
use wb_bench::{Comparison, Verdict};
use wb_core::{RunDir, Seed, records::outcome::Outcome, run_dir::read_json};

use super::End;
use crate::{args, output, pipeline::verdict};

/// `wb compare`
pub fn compare(arguments: &args::Compare) -> Result<End> {
    let (a, b) = (outcomes(&arguments.a, arguments)?, outcomes(&arguments.b, arguments)?);
    let mut compared = 0;
    let mut end = End::Done;
    for baseline in &a {
        for candidate in b.iter().filter(|candidate| candidate.benchmark == baseline.benchmark) {
            let comparison = verdict::of_outcomes(baseline, candidate, Seed(17))?;
            print(&comparison);
            compared += 1;
            if arguments.no_worse && comparison.verdict == Verdict::Regression {
                end = End::Refused;
            }
        }
    }
    if compared == 0 {
        bail!("{} and {} have no benchmark in common", arguments.a, arguments.b);
    }
    Ok(end)
}

/// What was named: a file, or a run with its trained encoder's outcomes.
fn outcomes(name: &str, arguments: &args::Compare) -> Result<Vec<Outcome>> {
    if Path::new(name).is_file() {
        // `wb bench` writes one outcome, or a list of several.
        return match read_json::<serde_json::Value>(Path::new(name))? {
            serde_json::Value::Array(_) => Ok(read_json(Path::new(name))?),
            _ => Ok(vec![read_json(Path::new(name))?]),
        };
    }
    let run = RunDir::open(&arguments.places.runs, name)?;
    let mut outcomes = Vec::new();
    for file in run.benches()? {
        let outcome: Outcome = read_json(&file)?;
        if outcome.contestant == "trained" {
            outcomes.push(outcome);
        }
    }
    if outcomes.is_empty() {
        bail!("{} has no benchmark of its trained encoder yet: wb run its config", run.id());
    }
    Ok(outcomes)
}

fn print(comparison: &Comparison) {
    let rows: Vec<Vec<String>> = comparison
        .rows
        .iter()
        .map(|row| {
            let [wins, ties, losses] = row.wins_ties_losses;
            vec![
                format!("{} {} {}", row.id, row.language, row.metric),
                format!("{:.4}", row.baseline),
                format!("{:.4}", row.candidate),
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
