//! The command line of `wb mine-negatives`.

use std::path::PathBuf;

use clap::{Arg, Args};

use super::Given;

/// Pairs to mine for, the model to mine with, and the files to write.
#[derive(Debug, Args)]
#[command(mut_args(with_default))]
pub struct MineNegatives {
    #[command(flatten)]
    pub given: Given,
    /// An encoder: a folder, a hub id (owner/name@revision), a run, or `latest`. The same as negatives.encoder=...
    #[arg(long, value_name = "DIR|ID|RUN", conflicts_with = "retriever")]
    pub encoder: Option<String>,
    /// A retriever that needs no encoder: bm25. The same as negatives.retriever=...
    #[arg(long)]
    pub retriever: Option<String>,
    /// Scores of another model for candidates, as JSON lines of query, document and score. The same as
    /// negatives.rescore={file: ...}
    #[arg(long, value_name = "FILE")]
    pub rescore: Option<PathBuf>,
    /// A model that reads query and document together, and whose scores decide: a folder, or a hub id
    /// (owner/name@revision). The same as negatives.rescore={cross_encoder: ...}
    #[arg(long, value_name = "DIR|ID", conflicts_with = "rescore")]
    pub cross_encoder: Option<String>,
    /// Writes the pairs with their negatives, as Parquet or JSON lines by the file's name, and the scores beside it.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Content of --out: pairs, or rows for other trainers: triplet, n-tuple, labeled-pair, labeled-list.
    #[arg(long, default_value = "pairs", requires = "out")]
    pub format: String,
    /// Puts the scores into the rows.
    #[arg(long, requires = "out")]
    pub scores: bool,
    /// Writes every candidate with its texts, for a model that reads query and document together.
    #[arg(long, value_name = "FILE")]
    pub candidates: Option<PathBuf>,
}

/// Help for the file: without one, this command lists no recipes.
fn with_default(argument: Arg) -> Arg {
    if argument.get_id() != "config" {
        return argument;
    }
    argument.help(
        "The experiment's YAML file [default: the latest run's, mined with its encoder; else configs/quickstart.yaml]",
    )
}
