//! Options for fetching models and data, whatever the command, and the folders that a command was given.

use clap::Args;

use super::{Command, PlacesArguments, ShardsCommand};

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
    /// The folders that it was given.
    pub fn places(&mut self) -> Option<&mut PlacesArguments> {
        Some(match self {
            Self::Run(training) | Self::Train(training) => &mut training.given.places,
            Self::Check(check) => &mut check.given.places,
            Self::Data(data) => &mut data.given.places,
            Self::MineNegatives(mining) => &mut mining.given.places,
            Self::Bench(bench) => &mut bench.places,
            Self::Text2Sql(text2sql) => &mut text2sql.places,
            Self::Ab(ab) => &mut ab.places,
            Self::Compare(compare) => &mut compare.places,
            Self::Report(report) => &mut report.places,
            Self::Encode(encode) => &mut encode.places,
            Self::Export(export) => &mut export.places,
            Self::Ls(ls) => &mut ls.places,
            Self::Shards(ShardsCommand::Plan(plan)) => &mut plan.given.places,
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
        })
    }
}
