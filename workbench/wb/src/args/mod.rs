//! The command line, as types.

mod agents;
mod bench;
mod data;
mod downloads;
mod encode;
mod given;
mod init;
mod mcp;
mod mine_negatives;
mod runs;
mod search;
mod shards;
mod structure;
mod text2sql;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use wb_encoder::DeviceConfig;
use wb_pipeline::session::Folders;

pub use self::{
    agents::AgentsCommand,
    bench::{Bench, SqlExecution},
    data::{DataArguments, DataCommand, DataGet},
    downloads::Downloads,
    encode::{Encode, Export},
    given::{ExperimentArguments, Given, GivenLedger},
    init::InitArguments,
    mcp::McpArguments,
    mine_negatives::MineNegatives,
    runs::{Compare, Ls, Report},
    search::{ContextArguments, IndexArguments, SearchArguments, SearchCommand, TuneArguments, TunedModels},
    shards::{MergeShards, MissingShards, PlanArguments, RunShards, ShardsCommand},
    structure::{
        CallersArguments, GraphArguments, ImpactArguments, MapArguments, OutlineArguments, PageArguments,
        StructureCommand, SymbolArguments,
    },
    text2sql::Text2Sql,
};

/// The folder in which data of others is put, and looked for where nothing is named.
pub const EXTERNAL: &str = "datasets/external";

/// A workbench for code embeddings: pairs out of code, a bi-encoder trained, measured under named protocols, a report.
#[derive(Debug, Parser)]
#[command(
    name = "wb",
    version,
    arg_required_else_help = true,
    after_help = "\
Start here:
  wb run configs/quickstart.yaml      pairs, training, benchmark and report in one go
  wb check configs/quickstart.yaml    what it would do, and what is wrong with the file
  wb ls                               runs and their scores"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub downloads: Downloads,
}

/// A command of `wb`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs every section of a YAML in order: data, training, benchmarks, report. What is done already is not done again.
    #[command(after_help = "\
Examples:
  wb run configs/quickstart.yaml
  wb run configs/quickstart.yaml train.epochs=2 device=cpu
  wb run configs/quickstart.yaml 'data.sources=[{code: {path: ../my-project}}]' data.split.by=pair
  wb run configs/quickstart.yaml --resume latest                  # this very run, or an error that says what changed")]
    Run(TrainingArguments),
    /// Asks which code or data, which device and how long, and writes a commented YAML that fits.
    #[command(after_help = "\
Examples:
  wb init                                                          # asks on a terminal
  wb init mine.yaml --code ../my-project --device auto --minutes 10
  wb init --pairs pairs.jsonl --device cpu --minutes 30 --name docs
  wb init --registry --device auto --minutes 2

Without a terminal the data, --device and --minutes have to be given. The head of the file says what it will cost, as
measured on this machine, and the commands that come next.")]
    Init(InitArguments),
    /// Reads a YAML and says what is wrong with it, or what it would do, without doing it.
    #[command(
        after_help = "Examples:\n  wb check configs/minilm-lora.yaml\n  wb check configs/quickstart.yaml --no-probe\n  wb check configs/quickstart.yaml train.epochs=2 --resolved > mine.yaml"
    )]
    Check(Check),
    /// Makes training pairs: with a language model (`synth:`), by rules (`rules:`), out of snippets (`snippets:`).
    #[command(after_help = "\
Examples:
  wb synth configs/rules-python.yaml                               # no language model
  wb synth configs/coderag-40.yaml --dry-run                       # what it would take, from a probe of 20 items
  wb synth configs/coderag-40.yaml                                 # with the model of the hub that it names
  wb synth configs/coderag-40.yaml llm.base_url=http://127.0.0.1:8080
  wb synth configs/coderag-40.yaml review=review.jsonl             # without what a person rejected on the page
  wb synth configs/coderag-40.yaml --replay ledger.jsonl --out copy   # the same bytes again, with no model

Every answer is in the ledger before it counts: stopped or killed, the same command goes on and asks nothing twice.")]
    Synth(Synth),
    /// Makes the pairs of a YAML's `data:` section; `wb data get` fetches data sets of others.
    #[command(after_help = "\
Examples:
  wb data configs/quickstart.yaml
  wb data get                        # data sets of others: what there is, and what is there
  wb data get codesearchnet cosqa    # fetched to datasets/external")]
    Data(DataArguments),
    /// Trains the encoder of a YAML; goes on from the last checkpoint of a run that was stopped.
    #[command(after_help = "\
Examples:
  wb train                                                # the recipes in configs, and what they cost
  wb train configs/minilm-lora.yaml
  wb train configs/minilm-lora.yaml train.optimizer.adamw.learning_rate=1e-4 name=faster
  wb train runs/RUN/config.yaml --resume RUN              # with the run's own config
  srun -N 4 wb train configs/minilm-lora.yaml --distributed   # by four machines")]
    Train(TrainingArguments),
    /// Finds hard negatives for the training pairs of a YAML, and says how many of them may be answers.
    #[command(after_help = "\
Examples:
  wb mine-negatives                                        # the latest run's pairs, mined with its encoder
  wb mine-negatives negatives.per_pair=7 --out mined.parquet
  wb mine-negatives configs/minilm-lora.yaml --out mined.parquet
  wb mine-negatives configs/quickstart.yaml --encoder latest negatives.per_pair=7
  wb mine-negatives configs/quickstart.yaml --retriever bm25 negatives.ranks='[10, 100]' negatives.sampling=random
  wb mine-negatives configs/minilm-lora.yaml negatives.mode=naive                  # for comparison: no filter
  wb mine-negatives configs/minilm-lora.yaml --out triples.jsonl --format triplet --scores
  wb mine-negatives configs/minilm-lora.yaml --cross-encoder cross-encoder/ms-marco-MiniLM-L6-v2
  wb mine-negatives configs/minilm-lora.yaml --candidates candidates.jsonl         # score them with a stronger model ...
  wb mine-negatives configs/minilm-lora.yaml --rescore scores.jsonl                # ... and decide by its scores

The section `negatives:` of the YAML says how; without it, its defaults do (`wb ls --defaults`).")]
    MineNegatives(MineNegatives),
    /// Measures an encoder, a run or BM25 under every protocol that the data can give; judges predicted SQL.
    #[command(after_help = "\
Examples:
  wb bench                                                         # the benchmarks, and whose data is there
  wb bench codesearchnet                                           # BM25 and the latest run's encoder
  wb bench codesearchnet --encoder sentence-transformers/all-MiniLM-L6-v2
  wb bench codesearchnet --dataset data/codesearchnet --retriever bm25 --json bm25.json
  wb bench cosqa --encoder latest --trec run.trec
  wb bench pairs --dataset held-out.jsonl --encoder latest
  wb bench cosqa --encoder latest --compare-dtype int8,bf16       # what fewer bits cost
  wb bench cosqa --encoder latest --rerank cross-encoder/ms-marco-MiniLM-L6-v2 --rerank-top 50

  wb bench spider --predictions predicted.sql                      # of datasets/external/spider
  wb bench spider --dataset data/spider --predictions predicted.sql --json verdicts.json
  wb bench spider --dataset data/spider --predictions predicted.sql --compat strict --require em=0.5 ex=0.6
  wb bench bird --dataset data/mini_dev --predictions predict_mini_dev.json --workers 1
  wb bench synthetic-sql --dataset synthetic_text_to_sql_test.jsonl --predictions predicted.sql

Predicted SQL runs in child processes that can only read; `wb ls --benchmarks` tells which files each benchmark reads.")]
    Bench(Box<Bench>),
    /// Text-to-SQL without and with retrieved examples, by rules or by a language model.
    #[command(
        name = "text2sql",
        after_help = "\
Examples:
  wb text2sql configs/spider-rag.yaml
  wb text2sql configs/spider-rag.yaml 'rag.retrievers=[{bm25: {}}, {random: {}}, {oracle: {}}]' --require ex=0.25
  wb text2sql configs/coderag-spider.yaml rag.sample=20              # a language model, on 20 questions
  wb text2sql configs/coderag-spider.yaml llm.base_url=http://127.0.0.1:8080 --out reports/mine
  wb text2sql configs/coderag-spider.yaml --out reports/copy --replay reports/coderag-spider/ledger.jsonl   # no model

The sections `rag:` and `llm:` of the YAML say how. Written are rag.json, a page with its chart (rag.html, rag.png), each
arm's predictions as `wb bench spider --predictions` reads them, the examples' vectors and the ledger of answers.
Requirements hold for the last retriever."
    )]
    Text2Sql(Box<Text2Sql>),
    /// Asks one corpus of snippets the same queries twice: as code, and as what a language model said of it.
    #[command(after_help = "\
Examples:
  wb ab configs/annotations.yaml
  wb ab configs/annotations.yaml --encoder latest ab.arms='[code, both]'
  wb ab configs/annotations.yaml --encoder bm25
  wb ab configs/annotations.yaml ab.judgements=judged.jsonl          # with a person's grades of what was found

The sections `ab:`, `annotate:`, `snippets:` and `llm:` of the YAML say how. Written are annotations.jsonl, ab.json, a page
with its chart (ab.html, ab.png), and to-judge.jsonl: what was found and nobody judged.")]
    Ab(AbArguments),
    /// Two runs, or two files of `wb bench --json`: differences, paired intervals, a verdict.
    #[command(after_help = "\
Examples:
  wb compare quickstart-1a2b3c4d quickstart-5e6f7a8b
  wb compare bm25.json minilm.json --no-worse")]
    Compare(Compare),
    /// Makes the HTML page and PNGs of a run.
    #[command(
        after_help = "Examples:\n  wb report\n  wb report --open\n  wb report quickstart-1a2b3c4d --reports pages"
    )]
    Report(Report),
    /// Indexes the code of a project, or brings its index up to date.
    #[command(after_help = "\
Examples:
  wb index path/to/project
  wb index path/to/project --encoder bag       # found by meaning too
  wb index . ../library --dependency serde     # further folders, a dependency's source
  wb index notebooks --annotations datasets/synthetic/annotations/annotations.jsonl
  wb index --watch
  wb index --status")]
    Index(IndexArguments),
    /// Finds functions, types and sections of a project by words or names.
    #[command(after_help = "\
Examples:
  wb search 'where are retries counted'
  wb search Parser::next --in src --explain
  wb search 'reading settings' -e 'fn \\w+_config' --budget 2000 --json
  wb search 'where is this tested' --current-file src/parser.rs
  wb search --snippets 3 'stack several models' --project notebooks    # for a prompt
  cargo test 2>&1 | wb search --issue -")]
    Search(Box<SearchArguments>),
    #[command(flatten)]
    Structure(StructureCommand),
    /// Answers agents about a project: a server of the Model Context Protocol, which only reads.
    #[command(after_help = "\
Examples:
  wb mcp --project path/to/project                 # over standard input and output
  wb mcp --http
  wb mcp --http 0.0.0.0:8722 --token-file token    # for other machines too")]
    Mcp(McpArguments),
    /// Puts the MCP server `wb mcp` into the configurations of agents, or takes it out.
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  wb agents status
  wb agents install                          # of those that are found: shows the changes, and asks
  wb agents install --agent claude,codex --scope project --instructions
  wb agents uninstall --yes")]
    Agents(AgentsCommand),
    /// Turns texts into vectors: a file, a folder or a pipe, to NumPy, Parquet or JSON lines.
    #[command(after_help = "\
Examples:
  wb encode --encoder latest --in snippets.jsonl --out snippets.npy               # the field `text`
  wb encode --encoder sentence-transformers/all-MiniLM-L6-v2 --in questions.txt --side query --out questions.parquet
  wb encode --encoder minilm-lora --in train.parquet --field code --out code.jsonl
  git grep -h TODO | wb encode --encoder latest --in - --in-format lines --out todo.npy
  wb encode --encoder latest --in snippets.jsonl --out short.npy --dim 128        # the first 128 numbers of each

Row i is text i. Beside a .npy lie the texts' ids, one a line, as `negatives.vectors` reads them; an encoder of a vector
for each token has its rows text after text there, and a file of where each text begins. Stopped or killed, the same
command goes on and ends in the same bytes; nothing is written over.")]
    Encode(Encode),
    /// Cuts a stage into shards, for as many machines as there are; the result is that of one, byte for byte.
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  wb shards plan configs/minilm-lora.yaml --stage encode --encoder latest --work s3://bucket/wb --shards 64
  wb shards plan --stage encode --in code.parquet --field code --encoder latest --work /shared/wb
  wb shards run PLAN --shard 7            # as a scheduler starts it; without --shard, its variables say the number
  wb shards run PLAN --all --processes 4  # on this machine
  wb shards status PLAN
  wb shards run PLAN --all 'run_on={slurm: {at_once: 64, options: [--partition=gpu, --gpus=1]}}'     # as in a YAML
  wb shards run PLAN --all 'run_on={kubernetes: {image: registry.example/wb:0.1.0}}'
  sbatch --array=$(wb shards missing PLAN --as slurm) --wrap 'wb shards run PLAN'      # the same by hand, once
  wb shards merge PLAN --out vectors

Exit codes of `run`: 0 done, by this attempt or another; 2 no attempt will do better; 75 try again. Attempts may be killed,
repeated and run beside each other: the first that is whole counts.")]
    Shards(ShardsCommand),
    /// Writes an encoder for other tools: a sentence-transformers folder, or adapters for PEFT.
    #[command(after_help = "\
Examples:
  wb export latest --out models/mine
  wb export minilm-lora --out models/mine-small --dtype f16
  wb export minilm-lora --out models/mine-adapter --format peft --base sentence-transformers/all-MiniLM-L6-v2
  wb export quickstart --out models/mine-whole --format safetensors

Formats:
  st           a sentence-transformers folder in the layout that every version and server reads
  st6          the same in the layout of sentence-transformers 5.4 and later
  peft         the adapters alone, as PEFT saves them
  safetensors  the folder of wb itself, with everything that wb computes by

What was written is read back and compared on 32 texts before it appears; nothing is written over.
Its README.md is a model card with the run's data, configuration and results.")]
    Export(Export),
    /// Runs with their scores, or what there is to choose from.
    #[command(
        after_help = "Examples:\n  wb ls\n  wb ls --leaderboard codesearchnet\n  wb ls --defaults\n  wb ls --schema\n  wb ls --benchmarks\n  wb ls --tasks"
    )]
    Ls(Ls),
    /// Shows what this build and machine can do; tests a device before it is trusted.
    #[command(
        after_help = "Examples:\n  wb doctor\n  wb doctor --device vulkan\n  wb doctor --device cuda --encoder models/all-MiniLM-L6-v2"
    )]
    Doctor(Doctor),
    /// Prints a completion script for a shell.
    #[command(after_help = "Example:\n  wb completions bash > ~/.local/share/bash-completion/completions/wb")]
    Completions {
        /// Shell to write the script for.
        shell: Shell,
    },
    /// The child process of a device's self-test.
    #[command(hide = true)]
    Probe(Doctor),
    /// The child process in which predicted SQL runs.
    #[command(hide = true)]
    SqlWorker,
}

/// A YAML to train by.
#[derive(Debug, Args)]
pub struct TrainingArguments {
    #[command(flatten)]
    pub given: Given,
    /// Goes on with this run (an id, a part of one, or `latest`) and with no other: refused, with what differs, where the
    /// config, the data or the build is not what it began with. Without it, the run with the same config and data is gone
    /// on with, or a new one begun.
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    /// Trains with all processes that mpirun, srun or torchrun's variables make ranks, of which this is one; rank 0 does all
    /// that is not computing.
    #[arg(long)]
    pub distributed: bool,
}

/// A YAML to make pairs with, and where they go.
#[derive(Debug, Args)]
pub struct Synth {
    #[command(flatten)]
    pub given: GivenLedger,
    /// Says what it would take, measured on a probe of 20 items, whose answers are kept for the run.
    #[arg(long, conflicts_with = "replay")]
    pub dry_run: bool,
}

/// A YAML to look at.
#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    pub given: Given,
    /// Prints the YAML with its overrides and every default filled in, and looks at nothing else.
    #[arg(long)]
    pub resolved: bool,
    /// Leaves out the five seconds in which this machine is measured, and with them the times.
    #[arg(long)]
    pub no_probe: bool,
}

/// Folders in which things are kept.
#[derive(Debug, Args, Clone)]
pub struct PlacesArguments {
    /// The folder of runs.
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub runs: PathBuf,
    /// The folder of prepared data sets.
    #[arg(long, default_value = "datasets/prepared", value_name = "DIR")]
    pub datasets: PathBuf,
    /// The folder of reports.
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
}

impl PlacesArguments {
    /// Folders that stages read from and write to.
    pub fn folders(&self) -> Folders<'_> {
        Folders { runs: &self.runs, datasets: &self.datasets }
    }
}

/// A YAML whose snippets are embedded in two ways, and the encoder for it.
#[derive(Debug, Args)]
pub struct AbArguments {
    #[command(flatten)]
    pub given: GivenLedger,
    /// An encoder: a folder, a hub id (owner/name@revision), a run, or `latest`; or bm25. The same as ab.encoder=...
    #[arg(long, value_name = "DIR|ID|RUN|bm25")]
    pub encoder: Option<String>,
    /// Ends with exit code 1 where the candidate is surely worse.
    #[arg(long)]
    pub no_worse: bool,
    #[command(flatten)]
    pub places: PlacesArguments,
}

/// A device to examine, and the model to examine it with.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Tests this device against the processor.
    #[arg(long, value_parser = device)]
    pub device: Option<DeviceConfig>,
    /// Tests it with this model instead of a made-up one: a folder, a run, a hub id.
    #[arg(long, value_name = "ENCODER")]
    pub encoder: Option<PathBuf>,
    /// Seconds after which a test that does not get on is ended, and a tenth of what one may take that does [default: 60, or WB_SELF_TEST_SECONDS]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub limit: Option<u64>,
}

/// A device by its name; where there is none of that name, with the nearest one.
fn device(name: &str) -> Result<DeviceConfig, String> {
    name.parse().map_err(|error: wb_core::Error| error.in_one_line())
}
