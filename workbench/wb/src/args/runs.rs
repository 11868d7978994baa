//! Arguments of what looks at runs: `wb compare`, `wb report`, `wb ls`.

use std::path::PathBuf;

use clap::Args;

use super::{EXTERNAL, PlacesArguments};

/// Two runs, or two files of `wb bench --json`, to compare.
#[derive(Debug, Args)]
pub struct Compare {
    /// The baseline: a run, or a JSON file of `wb bench`.
    pub a: String,
    /// The candidate.
    pub b: String,
    /// Ends with exit code 1 where the candidate is worse.
    #[arg(long)]
    pub no_worse: bool,
    #[command(flatten)]
    pub places: PlacesArguments,
}

/// Runs to report on.
#[derive(Debug, Args)]
pub struct Report {
    /// Runs; the latest one if none is named.
    #[arg(value_name = "RUN")]
    pub named: Vec<String>,
    /// Opens the page: with the program that BROWSER names, else with the one of this system.
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub places: PlacesArguments,
}

/// Lists to print.
#[derive(Debug, Args)]
pub struct Ls {
    /// Leaderboards over all runs; with a text, those that have it in benchmark, protocol, data or metric.
    #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "")]
    pub leaderboard: Option<String>,
    /// Every key of a YAML with its default.
    #[arg(long)]
    pub defaults: bool,
    /// The JSON Schema of a YAML, by which an editor completes and checks it: `configs/schema.json`.
    #[arg(long)]
    pub schema: bool,
    /// Benchmarks with their papers and licenses, and whose data is there.
    #[arg(long)]
    pub benchmarks: bool,
    /// The folder in which --benchmarks looks for data.
    #[arg(long, default_value = EXTERNAL, value_name = "DIR")]
    pub external: PathBuf,
    /// The tasks that `wb synth` has pairs written for.
    #[arg(long)]
    pub tasks: bool,
    #[command(flatten)]
    pub places: PlacesArguments,
}
