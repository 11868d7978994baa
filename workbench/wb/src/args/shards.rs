//! The command lines of `wb shards`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wb_pipeline::shards::ShardStage;

use super::{Given, encode::SideArgument};

/// Work with shards.
#[derive(Debug, Subcommand)]
pub enum ShardsCommand {
    /// Cuts a stage into shards, and puts the plan with all that the shards read into a shared place.
    Plan(Box<PlanArguments>),
    /// Works at one shard, or at all of them on this machine.
    Run(RunShards),
    /// Tells what is done, who is at work, and how long it will take.
    Status(PlanPlace),
    /// Prints the shards that are not done.
    Missing(MissingShards),
    /// Puts what the shards have made together, after looking at every byte of it.
    Merge(MergeShards),
}

/// A stage to cut.
#[derive(Debug, Args)]
pub struct PlanArguments {
    #[command(flatten)]
    pub given: Given,
    /// The stage: prepare (pairs of a YAML's files), encode (vectors of texts), mine (hard negatives by the vectors that
    /// negatives.vectors names), synth (the questions of `wb synth` to a model), annotate (those of its annotations), sweep (runs).
    #[arg(long, value_parser = stage)]
    pub stage: ShardStage,
    /// The shared place: a folder that all machines see, or s3://BUCKET/PREFIX.
    #[arg(long, value_name = "DIR|S3")]
    pub work: String,
    /// The encoder: a folder, a hub id (owner/name@revision), a run, or `latest`.
    #[arg(long, value_name = "DIR|ID|RUN", required_if_eq("stage", "encode"))]
    pub encoder: Option<String>,
    /// Encodes the texts of this Parquet file, in place of the pairs of a YAML.
    #[arg(long = "in", value_name = "FILE", conflicts_with = "config")]
    pub input: Option<PathBuf>,
    /// The column of --in that holds the text, as `wb encode` takes it [default: text]
    #[arg(long, value_name = "NAME", requires = "input")]
    pub field: Option<String>,
    /// Side of a search that is encoded: of pairs the positives (document) or the anchors (query).
    #[arg(long, default_value = "document")]
    pub side: SideArgument,
    /// Longest text in tokens, instead of the encoder's own.
    #[arg(long, value_name = "TOKENS")]
    pub max_tokens: Option<usize>,
    /// Number of shards; eight to twenty times the machines, so that a lost one costs minutes.
    #[arg(long, value_name = "N", conflicts_with = "rows_per_shard")]
    pub shards: Option<u64>,
    /// Rows of a shard; of texts to encode, brought to the next multiple of 4,096; of Parquet files to prepare, whose other files are a shard each [default: 262144, or more where that is over 1000 shards]
    #[arg(long, value_name = "R")]
    pub rows_per_shard: Option<u64>,
}

fn stage(name: &str) -> Result<ShardStage, String> {
    ShardStage::to_plan(name).map_err(|error| error.in_one_line())
}

/// A plan.
#[derive(Debug, Args)]
pub struct PlanPlace {
    /// The plan's place: the last line that `wb shards plan` printed.
    #[arg(value_name = "PLAN")]
    pub plan: String,
    /// Prints one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Shards to work at.
#[derive(Debug, Args)]
pub struct RunShards {
    /// The plan's place: the last line that `wb shards plan` printed.
    #[arg(value_name = "PLAN")]
    pub plan: String,
    /// The shard, from 0 [default: WB_SHARD, SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, with WB_SHARD_OFFSET added]
    #[arg(long, value_name = "I")]
    pub shard: Option<u32>,
    /// Works at all that is missing until nothing is, with the passes that follow, at most three times at each: on this
    /// machine, or as run_on says.
    #[arg(long, conflicts_with = "shard")]
    pub all: bool,
    /// The starter of attempts, as in a YAML: run_on=slurm, run_on=ray, 'run_on={kubernetes: {image: IMAGE}}', or a setting
    /// of it such as run_on.slurm.at_once=64 (configs/README.md) [default: processes of this machine].
    #[arg(value_name = "KEY=VALUE", requires = "all", conflicts_with = "processes")]
    pub run_on: Vec<String>,
    /// Processes at a time, on this machine.
    #[arg(long, value_name = "N", default_value = "1", requires = "all")]
    pub processes: usize,
    /// Forgets what was made of the shard before, and makes it again.
    #[arg(long, conflicts_with = "all")]
    pub anew: bool,
    /// The folder for what is fetched and made on the way [default: wb/shards in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}

/// A plan, and the form of a list.
#[derive(Debug, Args)]
pub struct MissingShards {
    /// The plan's place: the last line that `wb shards plan` printed.
    #[arg(value_name = "PLAN")]
    pub plan: String,
    /// Form: a number a line (list), or ranges as `sbatch --array` takes them (slurm).
    #[arg(long = "as", value_name = "FORM", default_value = "list", value_parser = ["list", "slurm"])]
    pub form: String,
}

/// A plan, and the folder of what it came to.
#[derive(Debug, Args)]
pub struct MergeShards {
    /// The plan's place: the last line that `wb shards plan` printed.
    #[arg(value_name = "PLAN")]
    pub plan: String,
    /// The folder to write to; without it, everything is looked at, and stays in parts.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The folder for what is fetched and made on the way [default: wb/shards in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}
