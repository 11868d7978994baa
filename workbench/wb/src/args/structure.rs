//! Arguments of `wb def`, `wb refs`, `wb callers`, `wb calls` and `wb outline`.

use std::path::PathBuf;

use clap::Args;

/// A symbol of a project.
#[derive(Debug, Args)]
pub struct SymbolArguments {
    /// A name, as in parse, Parser.parse or parser::Parser::parse; or a place that uses it: FILE:LINE or FILE:LINE:COLUMN.
    pub symbol: String,
    /// The project's folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub project: PathBuf,
    /// The file of the index, instead of one of the cache folder.
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// Answers at most.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub number: u32,
    /// Leaves out so many answers before: those that were read already.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: u32,
    /// Prints the answers as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A symbol, and how far its callers are followed.
#[derive(Debug, Args)]
pub struct CallersArguments {
    #[command(flatten)]
    pub symbol: SymbolArguments,
    /// Calls that are followed: 1 for those who call it, 2 for those who call these, too.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=10))]
    pub depth: u8,
}

/// A file or a folder.
#[derive(Debug, Args)]
pub struct OutlineArguments {
    /// The file or the folder.
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    pub place: PathBuf,
    /// Prints the items as JSON.
    #[arg(long)]
    pub json: bool,
}
