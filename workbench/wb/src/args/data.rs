//! The command line of `wb data`: the pairs of a YAML, or data sets of others.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{EXTERNAL, Given};

/// The pairs of a YAML, or a command.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DataArguments {
    #[command(subcommand)]
    pub command: Option<DataCommand>,
    #[command(flatten)]
    pub given: Given,
}

/// Commands of `wb data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Fetches data sets of others to where benchmarks and recipes read them; without a name, lists them.
    #[command(after_help = "\
Examples:
  wb data get                                            # the list: what is there, sizes, licenses, what reads it
  wb data get codesearchnet cosqa                        # what most recipes measure on
  wb data get codesearchnet --languages ruby,go          # two languages of it
  wb data get codesearchnet-annotations                  # judged functions, looked up among those that are there
  wb data get coir-cosqa                                 # one task of CoIR; `coir` is all ten
  wb data get spider bird --external /disk/data

A data set appears whole or not at all, with a record of its sources (.source.json); what is there already is not
fetched again, and what was stopped goes on. Files of the hub come from HF_ENDPOINT, and are kept in its cache;
WB_DATA_MIRROR=http://HOST/ stands in place of the `https://` of all other addresses.")]
    Get(DataGet),
}

/// Data sets to fetch, and where they go.
#[derive(Debug, Args)]
pub struct DataGet {
    /// Data sets; `coir` is all of its tasks. Without one, the list.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The folder of data sets of others.
    #[arg(long, default_value = EXTERNAL, value_name = "DIR")]
    pub external: PathBuf,
    /// Only these languages, of data sets that are told apart by them: go, java, javascript, php, python, ruby.
    #[arg(long, value_name = "LANGUAGE,...", value_delimiter = ',')]
    pub languages: Vec<String>,
    /// Another commit, branch or tag of the sources than the one that `wb` names, of one data set; `main` is what is
    /// published today. Sizes and hashes that `wb` knows do not count then.
    #[arg(long, value_name = "REVISION", requires = "names")]
    pub revision: Option<String>,
    /// Makes again what is there, also in place of what a person put there.
    #[arg(long)]
    pub force: bool,
}
