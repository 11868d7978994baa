//! Arguments of `wb def`, `wb refs`, `wb callers`, `wb calls`, `wb tests-for`, `wb related`, `wb impact`, `wb map` and
//! `wb outline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands that ask a project's structure.
#[derive(Debug, Subcommand)]
pub enum StructureCommand {
    /// Says where a name is defined: nearest first, then what that is another name of.
    #[command(after_help = "\
Examples:
  wb def Parser.parse
  wb def parser::Parser --json
  wb def src/main.rs:42        # whatever that line uses")]
    Def(SymbolArguments),
    /// Lists the places that use a definition, the sure ones first.
    #[command(after_help = "\
Examples:
  wb refs Parser.parse
  wb refs Parser -n 100 --skip 100 --json")]
    Refs(SymbolArguments),
    /// Lists the functions that call a function, and those that call these.
    #[command(after_help = "\
Examples:
  wb callers Parser.parse
  wb callers parse --depth 3")]
    Callers(CallersArguments),
    /// Lists what a function calls, and where that is defined.
    #[command(after_help = "Examples:\n  wb calls Parser.parse\n  wb calls main --json")]
    Calls(SymbolArguments),
    /// Lists the tests that reach a symbol or a file, or are named after it.
    #[command(after_help = "Examples:\n  wb tests-for Parser.parse\n  wb tests-for src/parser.rs --json")]
    TestsFor(SymbolArguments),
    /// Lists what belongs with a place or a symbol: used by it, using it, testing it, beside it, like it.
    #[command(after_help = "Examples:\n  wb related src/parser.rs:42\n  wb related Parser.parse -n 10 --json")]
    Related(SymbolArguments),
    /// Lists whom a change affects, tests first.
    #[command(after_help = "\
Examples:
  wb impact                                   # what is not committed yet
  wb impact --diff main --depth 2
  git diff HEAD~3 | wb impact --diff - --json
  wb impact Parser.parse")]
    Impact(ImpactArguments),
    /// Shows the most used definitions of a project, as many as a budget of tokens holds.
    #[command(after_help = "Examples:\n  wb map --budget 2000\n  wb map --focus src/parser.rs --focus Token --json")]
    Map(MapArguments),
    /// Lists functions and types of a file or a folder by the lines that define them.
    #[command(after_help = "Examples:\n  wb outline src/parser.rs\n  wb outline src --json")]
    Outline(OutlineArguments),
}

/// A project whose structure is asked for, and the form of the answer.
#[derive(Debug, Args)]
pub struct GraphArguments {
    /// The project's folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub project: PathBuf,
    /// The file of the index, instead of one of the cache folder.
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// Prints the answers as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A page of answers.
#[derive(Debug, Args)]
pub struct PageArguments {
    /// Answers at most.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub number: u32,
    /// Leaves out so many answers before: those that were read already.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: u32,
    #[command(flatten)]
    pub graph: GraphArguments,
}

/// A symbol of a project.
#[derive(Debug, Args)]
pub struct SymbolArguments {
    /// A name, as in parse, Parser.parse or parser::Parser::parse; or a place that uses it: FILE:LINE or FILE:LINE:COLUMN.
    pub symbol: String,
    #[command(flatten)]
    pub page: PageArguments,
}

/// A change, and how far those are followed who use what it touches.
#[derive(Debug, Args)]
pub struct ImpactArguments {
    /// The symbol that is to change; without one, the changes since --diff.
    #[arg(conflicts_with = "diff")]
    pub symbol: Option<String>,
    /// A commit whose difference from the files is the change, or - for a unified diff on standard input.
    #[arg(long, value_name = "REV|-", default_value = "HEAD")]
    pub diff: String,
    /// Steps that are followed: 1 for those who use it, 2 for those who use these, too.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=10))]
    pub depth: u8,
    #[command(flatten)]
    pub page: PageArguments,
}

/// A map's budget and what it is for.
#[derive(Debug, Args)]
pub struct MapArguments {
    /// Tokens at most, a quarter of the characters.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: u32,
    /// A file, a folder or a name that is worked on: what it uses comes first. May be given again.
    #[arg(long, value_name = "FILE|DIR|NAME")]
    pub focus: Vec<String>,
    #[command(flatten)]
    pub graph: GraphArguments,
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
