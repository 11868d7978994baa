//! `wb compare`: two runs, or two files of `wb bench --json`.

use anyhow::{Result, bail};
use wb_core::{Seed, records::compare::CompareVerdict};
use wb_pipeline::{
    compare::{self, in_pairs, outcomes},
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
        compare::print(&comparison);
        if arguments.no_worse && comparison.verdict == CompareVerdict::Regression {
            end = End::Refused;
        }
    }
    Ok(end)
}
