//! Arguments of `wb index` and `wb search`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wb_encoder::DeviceConfig;
use wb_pipeline::search::NamedSet;
use wb_search::{
    LinePattern,
    files::{FileKind, language_named},
};

/// A project to index.
#[derive(Debug, Args)]
pub struct IndexArguments {
    /// The project's folder, and further ones to search with it, which the index keeps to from then on.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folders: Vec<PathBuf>,
    /// Dependencies whose sources are searched too, by their names: packages of Cargo's registry, of node_modules, of
    /// Python's site-packages.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub dependency: Vec<String>,
    /// The project's folder alone: further folders and dependencies that the index has are forgotten.
    #[arg(long, conflicts_with = "dependency")]
    pub alone: bool,
    /// The file of the index, instead of one of the cache folder.
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// An index.scip of the project, which says what names mean: that of the project's folder, where none is named.
    #[arg(long, value_name = "FILE")]
    pub scip: Option<PathBuf>,
    /// The annotations.jsonl of `wb synth`: what a language model said of cells and functions is searched with them. The
    /// index keeps to it from then on; `none` forgets it.
    #[arg(long, value_name = "FILE|none")]
    pub annotations: Option<PathBuf>,
    /// Reads every file again, whatever index there is; with `--encoder bag` trains that again, too.
    #[arg(long)]
    pub anew: bool,
    /// An encoder, whose vectors find units by what they mean: a folder, a hub id (owner/name@revision), a run, `latest`,
    /// or `bag`, which is trained on this machine's code, once, in a minute; indexes where none is named have it, too.
    #[arg(long, value_name = "DIR|ID|RUN|bag", conflicts_with = "words")]
    pub encoder: Option<String>,
    /// Device to embed on: auto, cpu, cuda, cuda:N, metal, vulkan, wgpu.
    #[arg(long, default_value = "auto", value_parser = super::device, requires = "encoder")]
    pub device: DeviceConfig,
    /// Words alone: vectors that the index has are forgotten.
    #[arg(long)]
    pub words: bool,
    /// Stays, and brings the index up to date whenever files change.
    #[arg(long, conflicts_with_all = ["status", "verify", "compact"])]
    pub watch: bool,
    /// Changes nothing: says what the index has, and what has changed since.
    #[arg(long, conflicts_with_all = ["anew", "encoder", "words", "alone", "dependency", "annotations"])]
    pub status: bool,
    /// Changes nothing: reads all of the index and its vectors, and says whether they are whole.
    #[arg(long, conflicts_with_all = ["anew", "encoder", "words", "status"])]
    pub verify: bool,
    /// Puts the files together in which the encoder's vectors are kept for all projects.
    #[arg(long, conflicts_with_all = ["anew", "encoder", "words", "status", "verify"])]
    pub compact: bool,
}

/// A question to a project.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub struct SearchArguments {
    #[command(subcommand)]
    pub command: Option<SearchCommand>,
    /// The question: words, or a name.
    #[arg(required_unless_present_any = ["regexp", "issue"], conflicts_with = "issue")]
    pub question: Vec<String>,
    /// An issue, an error message or a stack trace in place of a question, `-` for standard input: files and lines, names,
    /// messages and prose in it are each asked for.
    #[arg(long, value_name = "FILE|-")]
    pub issue: Option<PathBuf>,
    /// Only what has a line that matches this regular expression; without a question, all such lines, as path:line:text.
    #[arg(short = 'e', long, value_name = "REGEX", value_parser = pattern)]
    pub regexp: Option<LinePattern>,
    /// The project's folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub project: PathBuf,
    /// The file of the index, instead of one of the cache folder.
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// Only files below this path of the project.
    #[arg(long = "in", value_name = "PATH", default_value = "", hide_default_value = true)]
    pub below: String,
    /// Only files of these kinds: code, or source, test, example, declaration, generated, docs, config, other.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub kind: Vec<FileKind>,
    /// Only files in these languages: rust, py, c++, ...; `text` for prose and settings.
    #[arg(long, value_name = "LANGUAGE", value_delimiter = ',', value_parser = language_named)]
    pub lang: Vec<String>,
    /// Answers at most [default: 10; all lines, without a question]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub number: Option<u16>,
    /// Snippets of code for a prompt (few-shot examples), so many, each whole: as Markdown, or with --json.
    #[arg(long, value_name = "N", conflicts_with_all = ["number", "explain"], requires = "question",
          value_parser = clap::value_parser!(u16).range(1..=100))]
    pub snippets: Option<u16>,
    /// Tokens of text at most (a token: four characters): what fits, of the rest the lines that define it; then whole units.
    #[arg(long, value_name = "TOKENS")]
    pub budget: Option<usize>,
    /// All lines of each answer, in place of excerpts of long ones: its defining line and those with most of the question.
    #[arg(long, conflicts_with = "snippets", requires = "json")]
    pub whole: bool,
    /// Answers only if the probability that something here does is at least this (`confidence` in the JSON).
    #[arg(long, value_name = "P", value_parser = wb_core::quantities::probability)]
    pub abstain: Option<f32>,
    /// Lets a cross-encoder read the first 20 answers, which it orders with the ranking: a folder, a hub id, or a run.
    #[arg(long, value_name = "DIR|ID|RUN", conflicts_with = "regexp")]
    pub rerank: Option<String>,
    /// Asks so many times: each time for the names that the best answers before it use.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub hops: u8,
    /// Words alone: vectors that the index has are left aside.
    #[arg(long)]
    pub words: bool,
    /// Weights of the ranking that `wb search tune` wrote, instead of its own.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Reads files that have changed before it answers.
    #[arg(long)]
    pub fresh: bool,
    /// Prints the answer as JSON.
    #[arg(long)]
    pub json: bool,
    /// Says of what each score is made.
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub context: ContextArguments,
}

/// The context of a question, as an agent has it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Context")]
pub struct ContextArguments {
    /// The file that is open, by its path in the project: files of its folder and of its name count 1.3 times.
    #[arg(long, value_name = "PATH")]
    pub current_file: Option<PathBuf>,
    /// Files that were seen: they count 0.8 times.
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub recent_files: Vec<PathBuf>,
    /// A question that was asked before; may stand several times.
    #[arg(long, value_name = "QUESTION")]
    pub recent_queries: Vec<String>,
    /// The task in words, which is asked for beside the question.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub task: String,
}

/// Work on the search itself.
#[derive(Debug, Subcommand)]
pub enum SearchCommand {
    /// Fits the ranking's weights to sets of questions. (To search for the word: wb search -- tune)
    #[command(after_help = "\
Examples:
  wb search tune semble=data/semble swe-qa=data/swe-qa cqs=data/cqs --out weights.yaml
  wb search tune own=path/to/project --encoder latest")]
    Tune(TuneArguments),
}

/// Sets of questions to fit weights to.
#[derive(Debug, Args)]
pub struct TuneArguments {
    /// The sets, with their folders as `wb bench search --dataset` takes them; each counts alike.
    #[arg(value_name = "SET=DIR")]
    pub sets: Vec<NamedSet>,
    #[command(flatten)]
    pub by: TunedModels,
    /// Weights to begin with, instead of the ranking's own.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// The file to write the weights to; else they are printed.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Models that a ranking is fitted with.
#[derive(Debug, Args)]
pub struct TunedModels {
    /// An encoder whose vectors find units too: a folder, a hub id (owner/name@revision), a run, or `latest`.
    #[arg(long, value_name = "DIR|ID|RUN")]
    pub encoder: Option<String>,
    /// A cross-encoder that reads the first 20 answers, whose weight stays 0 where it does not gain for sure.
    #[arg(long, value_name = "DIR|ID|RUN")]
    pub rerank: Option<String>,
    /// Device to compute on: auto, cpu, cuda, cuda:N, metal, vulkan, wgpu.
    #[arg(long, default_value = "auto", value_parser = super::device)]
    pub device: DeviceConfig,
}

fn pattern(text: &str) -> Result<LinePattern, String> {
    LinePattern::new(text).map_err(|error| error.in_one_line())
}
