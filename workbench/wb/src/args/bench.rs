//! The command line of `wb bench`.

use std::{path::PathBuf, sync::LazyLock};

use clap::Args;
use wb_bench::benchmarks::{OF_TEXTS, SEARCH};
use wb_encoder::{DeviceConfig, MemoryType};
use wb_pipeline::structure::{BENCHMARK as STRUCTURE, QuestionSet};
use wb_sql::{Compat, benchmarks::SqlBenchmark};

use super::PlacesArguments;

/// Benchmarks to run, and the encoder or the predictions to measure.
#[derive(Debug, Args)]
pub struct Bench {
    /// Benchmarks, also of text-to-SQL; without a name, they are listed.
    #[arg(value_name = "NAMES")]
    pub names: Vec<String>,
    /// The folder with the benchmark's data [default: its place in --external]; for `pairs` a file of pairs, instead of
    /// the run's own test pairs; for `synthetic-sql` a file of rows.
    #[arg(long, value_name = "DIR|FILE")]
    pub dataset: Option<PathBuf>,
    /// The folder in which data is looked for that --dataset does not name.
    #[arg(long, default_value = super::EXTERNAL, value_name = "DIR")]
    pub external: PathBuf,
    /// An encoder: a folder, a hub id (owner/name@revision), a run, or `latest`; without it and --retriever, BM25 and
    /// the latest run's encoder are measured.
    #[arg(long, value_name = "DIR|ID|RUN", conflicts_with = "retriever")]
    pub encoder: Option<String>,
    /// A retriever that needs no encoder: bm25.
    #[arg(long)]
    pub retriever: Option<String>,
    /// CodeSearchNet's documents: tokens (code_tokens joined) or raw (with comments, which hold the query).
    #[arg(long, default_value = "tokens", value_parser = ["tokens", "raw"])]
    pub text: String,
    /// Only these languages.
    #[arg(long, value_delimiter = ',')]
    pub languages: Vec<String>,
    /// Writes the numbers, with every query's rank or every question's verdict, as JSON.
    #[arg(long, value_name = "OUT")]
    pub json: Option<PathBuf>,
    /// Writes the rankings as a TREC run file.
    #[arg(long, value_name = "OUT")]
    pub trec: Option<PathBuf>,
    /// Ends with exit code 1 unless the benchmark's main metric reaches this, as in mrr=0.40, or several: em=0.5 ex=0.6.
    #[arg(long, value_name = "METRIC=VALUE", num_args = 1..)]
    pub require: Vec<String>,
    /// Measures a compressed token index of the documents too, with so many bits for each number (1, 2, 4 or 8):
    /// recall against exact search, bytes a token, queries a second. For encoders of one vector a token.
    #[arg(long, value_name = "BITS", conflicts_with = "retriever")]
    pub token_index: Option<u8>,
    /// Measures the encoder with its weights in these types too (f32, f16, bf16, int8, bf16-products; on a device bf16-products
    /// and f16-products): memory, cosines to the vectors of its own weights, and the change of the metrics.
    #[arg(long, value_name = "TYPES", value_delimiter = ',', conflicts_with_all = ["retriever", "embed", "rerank", "trec"])]
    pub compare_dtype: Vec<MemoryType>,
    /// Measures every contestant once more with its first documents ordered by a cross-encoder, which reads query and
    /// document together: a folder, or a hub id (owner/name@revision).
    #[arg(long, value_name = "DIR|ID|RUN")]
    pub rerank: Option<String>,
    /// Number of each query's first documents that --rerank orders; the rest stay below [default: 100; of search 20]
    #[arg(long, value_name = "K", requires = "rerank", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rerank_top: Option<u32>,
    /// The set of questions of `search`: semble, swe-qa, cqs, contextbench, no-answer, or own, made of the repository that
    /// --dataset is; of `structure`: stack-graphs, pycg, scip, scip-imported.
    #[arg(long, value_name = "SET")]
    pub set: Option<QuestionSet>,
    /// Weights of the ranking of `search` that `wb search tune` wrote, instead of its own.
    #[arg(long, value_name = "FILE", requires = "set")]
    pub weights: Option<PathBuf>,
    /// Another ranking to compare `search` with, question by question: what --json wrote, or a TREC run file with the
    /// set's ids and documents like path:from-to.
    #[arg(long, value_name = "FILE", requires = "set")]
    pub against: Option<PathBuf>,
    /// Asks questions of `search` in the context that they have: the file that is open.
    #[arg(long, requires = "set")]
    pub context: bool,
    /// Asks each question of `search` so many times: each time for the names that the best answers before it use.
    #[arg(long, value_name = "N", requires = "set", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub hops: u8,
    /// Text to embed of documents that a language model annotated: code, annotation, both, concat.
    #[arg(long, value_name = "WHAT", requires = "annotations", conflicts_with = "retriever")]
    pub embed: Option<String>,
    /// The annotations: annotations.jsonl of `wb synth`.
    #[arg(long, value_name = "FILE", requires = "embed")]
    pub annotations: Option<PathBuf>,
    /// Longest text in tokens, instead of the encoder's own.
    #[arg(long, value_name = "TOKENS")]
    pub max_tokens: Option<usize>,
    /// Device to compute on: auto, cpu, cuda, cuda:N, metal, vulkan, wgpu.
    #[arg(long, default_value = "auto", value_parser = super::device)]
    pub device: DeviceConfig,
    #[command(flatten)]
    pub places: PlacesArguments,
    #[command(flatten)]
    pub sql: BenchSql,
}

/// Options for judging predicted SQL, beside `--dataset`, `--json` and `--require`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Text-to-SQL (spider, bird, synthetic-sql)")]
pub struct BenchSql {
    /// The predicted SQL, in the order of the questions: one query a line, or SQL TAB db_id; for `bird` its JSON.
    #[arg(long, value_name = "FILE")]
    pub predictions: Option<PathBuf>,
    /// The questions with their gold queries [default: dev.json of the data; for `bird` also mini_dev_sqlite.json]
    #[arg(long, value_name = "FILE")]
    pub questions: Option<PathBuf>,
    /// Rules of the verdicts: official (the published evaluator's, quirks included) or strict (what was meant)
    /// [default: official]
    #[arg(long, value_name = "WHICH", value_parser = compat)]
    pub compat: Option<Compat>,
    /// Also tries the gold query's values in the place of the prediction's.
    #[arg(long)]
    pub plug_value: bool,
    /// Leaves DISTINCT where it is; strict always does.
    #[arg(long)]
    pub keep_distinct: bool,
    /// Timed runs of each right query of `bird`, for R-VES; 0 leaves it out [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=10_000))]
    pub iterations: Option<u16>,
    #[command(flatten)]
    pub execution: SqlExecution,
    /// The old way to `wb text2sql`.
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "CONFIG", value_parser = moved)]
    generate: Option<String>,
}

/// Databases to run SQL on, and the limits of running it.
#[derive(Debug, Args)]
pub struct SqlExecution {
    /// The folder of databases, DIR/ID/*.sqlite [default: database of the data; for `bird` dev_databases]
    #[arg(long, value_name = "DIR")]
    pub databases: Option<PathBuf>,
    /// Seconds that a statement may take [default: 20; for `bird` 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<f64>,
    /// Child processes that run statements at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub workers: Option<u16>,
}

const RETRIEVAL: &[&str] = &OF_TEXTS;
static SQL: LazyLock<Vec<&str>> = LazyLock::new(|| SqlBenchmark::ALL.map(SqlBenchmark::name).to_vec());
static ALL: LazyLock<Vec<&str>> = LazyLock::new(|| [RETRIEVAL, &SQL].concat());

impl Bench {
    /// Options that are given, each with the names of the benchmarks that take it.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        const FOLDERS: &[&str] = &["spider", "bird"];
        const SPIDER: &[&str] = &["spider"];
        const CODE: &[&str] = &["codesearchnet"];
        let (all, of_sql): (&'static [&str], &'static [&str]) = (&ALL, &SQL);
        let sql = &self.sql;
        let options = [
            (self.dataset.is_some(), "--dataset", all),
            (self.json.is_some(), "--json", all),
            (!self.require.is_empty(), "--require", all),
            (self.encoder.is_some(), "--encoder", RETRIEVAL),
            (self.retriever.is_some(), "--retriever", RETRIEVAL),
            (self.text != "tokens", "--text", CODE),
            (!self.languages.is_empty(), "--languages", CODE),
            (self.trec.is_some(), "--trec", RETRIEVAL),
            (self.token_index.is_some(), "--token-index", RETRIEVAL),
            (!self.compare_dtype.is_empty(), "--compare-dtype", RETRIEVAL),
            (self.rerank.is_some(), "--rerank", RETRIEVAL),
            (self.set.is_some(), "--set", &[SEARCH, STRUCTURE]),
            (self.weights.is_some(), "--weights", &[SEARCH]),
            (self.against.is_some(), "--against", &[SEARCH]),
            (self.context, "--context", &[SEARCH]),
            (self.hops > 1, "--hops", &[SEARCH]),
            (self.embed.is_some(), "--embed", RETRIEVAL),
            (self.max_tokens.is_some(), "--max-tokens", RETRIEVAL),
            (self.device != DeviceConfig::Auto, "--device", RETRIEVAL),
            (sql.predictions.is_some(), "--predictions", of_sql),
            (sql.questions.is_some(), "--questions", FOLDERS),
            (sql.execution.databases.is_some(), "--databases", FOLDERS),
            (sql.compat.is_some(), "--compat", SPIDER),
            (sql.plug_value, "--plug-value", SPIDER),
            (sql.keep_distinct, "--keep-distinct", SPIDER),
            (sql.execution.timeout.is_some(), "--timeout", of_sql),
            (sql.execution.workers.is_some(), "--workers", of_sql),
            (sql.iterations.is_some(), "--iterations", &["bird"]),
        ];
        options.into_iter().filter(|(given, ..)| *given).map(|(_, option, takers)| (option, takers))
    }
}

fn moved(_: &str) -> Result<String, String> {
    Err("queries are made, and retrieval is measured by them, with `wb text2sql CONFIG`".to_owned())
}

fn compat(name: &str) -> Result<Compat, String> {
    match name {
        "official" => Ok(Compat::Official),
        "strict" => Ok(Compat::Strict),
        _ => Err("expected official or strict".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("expected seconds, more than 0 and at most 86400".to_owned()),
    }
}
