//! Options for fetching models and data, whatever the command, and the folder of runs whose lock file knows them.

use std::path::Path;

use clap::Args;

use super::{Command, ShardsCommand};

/// Rules for fetching models and data of the hub.
#[derive(Debug, Args)]
#[command(next_help_heading = "Downloads")]
pub struct Downloads {
    /// Refuses names of models and data whose commit is not in RUNS/hub.lock yet.
    #[arg(long, global = true)]
    pub locked: bool,
    /// Fetches more than 1 GB without asking.
    #[arg(long, global = true)]
    pub yes: bool,
}

impl Command {
    /// The folder of runs that it was given.
    pub fn runs(&self) -> Option<&Path> {
        let places = match self {
            Self::Run(training) | Self::Train(training) => &training.given.places,
            Self::Check(check) => &check.given.places,
            Self::Data(data) => &data.given.places,
            Self::MineNegatives(mining) => &mining.given.places,
            Self::Bench(bench) => &bench.places,
            Self::Text2Sql(text2sql) => &text2sql.places,
            Self::Ab(ab) => &ab.places,
            Self::Compare(compare) => &compare.places,
            Self::Report(report) => &report.places,
            Self::Encode(encode) => &encode.places,
            Self::Export(export) => &export.places,
            Self::Ls(ls) => &ls.places,
            Self::Shards(ShardsCommand::Plan(plan)) => &plan.given.places,
            Self::Shards(_)
            | Self::Synth(_)
            | Self::Init(_)
            | Self::Index(_)
            | Self::Search(_)
            | Self::Structure(_)
            | Self::Mcp(_)
            | Self::Agents(_)
            | Self::Doctor(_)
            | Self::Completions { .. }
            | Self::Probe(_)
            | Self::SqlWorker => {
                return None;
            }
        };
        Some(&places.runs)
    }
}
