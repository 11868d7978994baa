//! The command line of `wb text2sql`.

use std::path::PathBuf;

use clap::{Arg, Args};

use super::{GivenLedger, PlacesArguments, SqlExecution};

/// A YAML to measure retrieval for text-to-SQL with, and the scores to reach.
#[derive(Debug, Args)]
#[command(mut_args(with_folder))]
pub struct Text2Sql {
    #[command(flatten)]
    pub given: GivenLedger,
    /// Writes the record, with every question's verdicts, as JSON here too.
    #[arg(long, value_name = "OUT")]
    pub json: Option<PathBuf>,
    /// Ends with exit code 1 unless the last retriever's arm reaches this, as in em=0.5 ex=0.6.
    #[arg(long, value_name = "METRIC=VALUE", num_args = 1..)]
    pub require: Vec<String>,
    #[command(flatten)]
    pub execution: SqlExecution,
    #[command(flatten)]
    pub places: PlacesArguments,
}

/// The folder that this command makes is one of reports.
fn with_folder(argument: Arg) -> Arg {
    if argument.get_id() != "out" {
        return argument;
    }
    argument.help("The folder of the record, the page, predictions, indexes and answers [default: reports/NAME]")
}
