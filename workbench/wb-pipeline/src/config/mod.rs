//! The whole YAML, section by section.

mod ab;
mod bench;
mod data;
mod encoder;
mod head;
mod page;
mod schema;
mod sections;
mod validate;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_bench::BenchmarkConfig;
use wb_core::{EncoderRef, Error, Result, Seed};
use wb_encoder::{Devices, journals::JournalFormat, train::TrainConfig};
use wb_llm::LlmConfig;
use wb_retrieval::mining::MiningConfig;
use wb_synth::{SynthConfig, annotate::AnnotateConfig, rules::RulesConfig, snippets::SnippetsConfig};

pub use ab::AbConfig;
pub use bench::{BenchConfig, BenchEntry, ContestantName, DocumentsConfig};
pub use data::{DataConfig, SourceChoice};
pub use encoder::{EncoderConfig, ModelChoice};
pub use head::FileHead;
pub use page::with_tables;
pub use schema::schema;
pub use validate::check_name;
pub use wb_text2sql::config::{GeneratorChoice, RagConfig, RetrieverChoice};

use crate::{shards::RunOn, sweep::SweepConfig};

/// One YAML, for all commands: every section may be left out, and a command asks for those that it cannot do without.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Part of the names of the run and of its data: letters, digits, `-` and `_`.
    pub name: String,
    /// Decides everything that is drawn: the split, the initial weights, the order of pairs, dropout, bootstrap
    /// samples.
    #[serde(default)]
    pub seed: Seed,
    /// The device that computes: `auto`, `cpu`, `cuda`, `cuda:N`, `metal`, `vulkan`, `wgpu`. `auto` takes the first of
    /// cuda, metal, vulkan, wgpu, cpu that is compiled in and present. A device that is named and not there is an
    /// error. Where a device is right only with other kernels: `{ vulkan: { fusion: false, autotune: minimal } }`. A
    /// training may be the work of several: `[cuda:0, cuda:1]`; what only encodes is that of the first.
    #[serde(default)]
    pub device: Devices,
    /// The language model; needed by `synth`, `annotate` and a `rag` whose `generator` is `model`.
    #[serde(default)]
    pub llm: Option<LlmConfig>,
    /// Code or prose that pairs are made of; needed by `wb synth` and `wb ab`.
    #[serde(default)]
    pub snippets: Option<SnippetsConfig>,
    /// Pairs that a language model writes, by `wb synth`; null for none.
    #[serde(default)]
    pub synth: Option<SynthConfig>,
    /// Pairs that rules make, by `wb synth`; null for none.
    #[serde(default)]
    pub rules: Option<RulesConfig>,
    /// Descriptions of each snippet by a language model (a summary, keywords, example queries), written to
    /// `annotations.jsonl` by `wb synth`; null for none.
    #[serde(default)]
    pub annotate: Option<AnnotateConfig>,
    /// A file that `review.html` of `wb synth` exported. Pairs that a person rejected are left out, whoever made them,
    /// and others take their place where a number is wanted (`synth.select.per_kind`, `rules.pairs_per_task`);
    /// accepted ones come first. A verdict counts for the texts that were seen.
    #[serde(default, deserialize_with = "wb_core::paths::typed")]
    pub review: Option<PathBuf>,
    /// Two ways to embed the snippets, asked the same queries by `wb ab`; null for none.
    #[serde(default)]
    pub ab: Option<AbConfig>,
    /// Text-to-SQL with and without retrieved examples, for `wb text2sql`; null for none.
    #[serde(default)]
    pub rag: Option<RagConfig>,
    /// Sources of pairs, and the gates that they pass.
    #[serde(default)]
    pub data: Option<DataConfig>,
    /// Hard negatives mined for the training pairs, between data and training; null for none.
    #[serde(default)]
    pub negatives: Option<MiningConfig>,
    /// The encoder that is trained.
    #[serde(default)]
    pub encoder: Option<EncoderConfig>,
    /// The training of the encoder.
    #[serde(default)]
    pub train: TrainConfig,
    /// Tools for which the journals of training are written too: `tensorboard` (an event file), `wandb` (JSON lines).
    /// Costs nothing, and is no part of what decides the weights.
    #[serde(default)]
    pub journals: Vec<JournalFormat>,
    /// Benchmarks, and the contestants that are measured on them.
    #[serde(default)]
    pub bench: BenchConfig,
    /// The place where plans of shards are kept, and what shards make: a folder that all machines see, or
    /// `s3://BUCKET/PREFIX`. Needed by `run_on`.
    #[serde(default)]
    pub work: Option<String>,
    /// Machines that stages are cut into shards for: questions of `wb synth`, pairs with `data.streaming`, mining with its
    /// vectors, and the runs of a `sweep`. `{ local: { processes: 4 } }`, `{ slurm: { options: [--partition=gpu] } }`,
    /// `{ ray: { gpus: 1 } }`, `{ kubernetes: { image: IMAGE } }`, or a name alone, such as `slurm`; null for this process.
    /// What is made is the same, to the byte.
    #[serde(default)]
    pub run_on: Option<RunOn>,
    /// Values by the path of their key, such as `{ train.epochs: [1, 2, 3], seed: [1, 2] }`: `wb run` and `wb train` make a
    /// run of each combination, and a page that compares them; null for one run.
    #[serde(default)]
    pub sweep: Option<SweepConfig>,
    /// The command and the file, for messages.
    #[serde(skip)]
    pub read_by: ReadBy,
}

/// The command that reads a YAML, and the YAML's path, for messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadBy {
    /// Such as `wb train`.
    pub command: &'static str,
    /// The YAML.
    pub file: PathBuf,
}

impl Experiment {
    /// Reads, overrides and checks a YAML for a command such as `wb train`. A folder among the overrides is the one that its
    /// first source reads.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a value in it makes no sense; with path, line and column as far as they can be known.
    pub fn load(command: &'static str, file: &Path, overrides: &[String]) -> Result<Self> {
        let overrides = crate::typed::with_folders(file, overrides)?;
        let experiment: Self = wb_core::config::load(file, &overrides)?;
        experiment.validate().map_err(|error| placed(error, file, &overrides))?;
        Ok(Self { read_by: ReadBy { command, file: file.to_owned() }, ..experiment })
    }

    /// Types and checks a text before `command` writes it to `file`.
    ///
    /// # Errors
    ///
    /// If it is no YAML of an experiment, or a value in it makes no sense.
    pub fn of_text(command: &'static str, text: &str, file: &Path) -> Result<Self> {
        let experiment: Self = wb_core::config::from_text(text, file)?;
        experiment.validate()?;
        Ok(Self { read_by: ReadBy { command, file: file.to_owned() }, ..experiment })
    }

    /// The most hard negatives that mining gives a pair; none where nothing is mined.
    pub fn mined_per_pair(&self) -> Option<usize> {
        let is_mined = self.negatives.is_some() || self.train.refresh.is_some();
        is_mined.then(|| self.negatives.clone().unwrap_or_default().rules().per_pair)
    }

    /// True where a cross-encoder is trained.
    pub fn reads_pairs(&self) -> bool {
        self.encoder.as_ref().is_some_and(|encoder| encoder.cross_encoder.is_some())
    }

    /// Contestants that are measured. A cross-encoder orders what BM25 found, so that there is nothing to fuse.
    pub fn contestants(&self) -> Vec<ContestantName> {
        let is_measured = |one: &&ContestantName| !(self.reads_pairs() && **one == ContestantName::Fused);
        self.bench.contestants.iter().filter(is_measured).copied().collect()
    }

    /// The position of a benchmark that measures the held-out pairs of the experiment itself, if one does.
    pub fn of_held_out(&self) -> Option<usize> {
        let is_of_held_out = |entry: &BenchEntry| {
            matches!(entry.benchmark, BenchmarkConfig::Pairs(_)) && entry.dataset.is_none() && entry.sources.is_empty()
        };
        self.bench.benchmarks.iter().position(is_of_held_out)
    }

    /// True where it begins with an encoder that knows something.
    pub fn has_pretrained(&self) -> bool {
        self.pretrained().is_some()
    }

    /// The name of the encoder that it begins with; none where there is none, or where it begins from scratch.
    pub fn pretrained(&self) -> Option<&EncoderRef> {
        match &self.encoder.as_ref()?.model {
            ModelChoice::Pretrained(reference) => Some(reference),
            ModelChoice::StaticEmbedding(_) | ModelChoice::Transformer(_) => None,
        }
    }

    /// Encoders that compute vectors to learn from: the loss's guide, and one that a static embedding is made from.
    pub fn teachers(&self) -> impl Iterator<Item = &EncoderRef> {
        let of_bag = self.encoder.as_ref().and_then(EncoderConfig::from_teacher).map(|(teacher, _)| teacher);
        self.train.loss.guide().into_iter().chain(of_bag)
    }
}

/// An impossible value stands in an override, or at a place in the file.
fn placed(error: Error, path: &Path, overrides: &[String]) -> Error {
    let Error::Value { key, message, hint } = error else { return error };
    let under =
        |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    let sets = |given: &&String| given.split_once('=').is_some_and(|(set, _)| under(&key, set) || under(set, &key));
    match overrides.iter().rfind(sets) {
        Some(given) => Error::Override { given: given.clone(), message: format!("{key}: {message}"), hint },
        None => wb_core::config::with_position(Error::Value { key, message, hint }, path),
    }
}

#[cfg(test)]
mod paths;
