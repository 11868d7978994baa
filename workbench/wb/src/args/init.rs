//! The command line of `wb init`: the answers to its questions, where there is nobody to ask.

use std::path::PathBuf;

use clap::Args;
use wb_encoder::DeviceConfig;

/// The file to write, and the answers that are known.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// The YAML to write [default: NAME.yaml]
    pub file: Option<PathBuf>,
    /// A folder of source code, in any of nineteen languages.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["pairs", "registry"])]
    pub code: Option<String>,
    /// A file of pairs: .jsonl, .parquet or .csv.
    #[arg(long, value_name = "FILE", conflicts_with = "registry")]
    pub pairs: Option<String>,
    /// The Rust crates in Cargo's registry sources.
    #[arg(long)]
    pub registry: bool,
    /// Device to compute on: auto, cpu, cuda, cuda:N, metal, vulkan, wgpu.
    #[arg(long, value_parser = super::device)]
    pub device: Option<DeviceConfig>,
    /// Minutes that a run may take.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub minutes: Option<u32>,
    /// The experiment's name [default: the file's, else that of the data]
    #[arg(long)]
    pub name: Option<String>,
    /// Writes over a file that is there.
    #[arg(long)]
    pub force: bool,
}
