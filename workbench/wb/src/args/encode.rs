//! The command lines of `wb encode` and `wb export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wb_core::Side;
use wb_encoder::{DeviceConfig, ExportFormat, MemoryType, WeightType};
use wb_pipeline::encode::InputFormat;

use super::PlacesArguments;

/// Texts to turn into vectors, the encoder, and the file to write.
#[derive(Debug, Args)]
pub struct Encode {
    /// The encoder: a folder, a hub id (owner/name@revision), a run, or `latest`.
    #[arg(long, value_name = "DIR|ID|RUN")]
    pub encoder: String,
    /// The texts: JSON lines, Parquet or CSV, plain text with one a line (.txt), a folder of files of records, or `-` for
    /// standard input.
    #[arg(long = "in", value_name = "FILE|DIR|-")]
    pub input: PathBuf,
    /// Form of the texts where the name does not say it: lines (a text each), or records (with a field for the text; JSON
    /// lines on standard input).
    #[arg(long, value_name = "FORM", value_parser = form)]
    pub in_format: Option<InputFormat>,
    /// The field of a record that holds the text: a name, a dotted path (meta.doc), a|b or a+b. Names of texts are taken
    /// from `id`, else they are FILE:LINE.
    #[arg(long, default_value = "text", value_name = "NAME")]
    pub field: String,
    /// Side of a search that the texts stand on: prompts and lengths may differ.
    #[arg(long, default_value = "document")]
    pub side: SideArgument,
    /// The file to write: .npy, .parquet or .jsonl; it must not exist yet.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Keeps the first so many numbers of each vector (Matryoshka), brought to length 1 again where the encoder's are.
    #[arg(long, value_name = "N")]
    pub dim: Option<usize>,
    /// Longest text in tokens, instead of the encoder's own.
    #[arg(long, value_name = "TOKENS")]
    pub max_tokens: Option<usize>,
    /// Type of weights in memory, in place of the folder's: f32, f16, bf16, int8 (a scale for each output of a layer), or
    /// bf16-products (inputs rounded too; on devices also f16-products, and no others); `wb bench NAME --compare-dtype` measures the cost.
    #[arg(long, value_name = "TYPE")]
    pub dtype: Option<MemoryType>,
    /// Device to compute on: auto, cpu, cuda, cuda:N, metal, vulkan, wgpu.
    #[arg(long, default_value = "auto", value_parser = super::device)]
    pub device: DeviceConfig,
    #[command(flatten)]
    pub places: PlacesArguments,
}

/// A side of a search, as it is typed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SideArgument {
    /// Texts that are searched for.
    Query,
    /// Texts that are searched in.
    Document,
}

impl From<SideArgument> for Side {
    fn from(side: SideArgument) -> Self {
        match side {
            SideArgument::Query => Self::Query,
            SideArgument::Document => Self::Document,
        }
    }
}

/// A form of texts by its name.
fn form(name: &str) -> Result<InputFormat, String> {
    name.parse().map_err(|error: wb_core::Error| error.in_one_line())
}

/// An encoder to write, and the folder and format to write it in.
#[derive(Debug, Args)]
pub struct Export {
    /// The encoder: a run, `latest`, a folder, or a hub id (owner/name@revision).
    #[arg(value_name = "RUN|DIR")]
    pub encoder: String,
    /// The folder to make; it must not exist yet.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Format to write: st, st6, peft, safetensors.
    #[arg(long, default_value = "st")]
    pub format: ExportFormat,
    /// Adds adapters into the weights (st and st6 always do).
    #[arg(long)]
    pub merge: bool,
    /// Type of the weights: f32, f16, bf16.
    #[arg(long, default_value = "f32")]
    pub dtype: WeightType,
    /// The model that adapters belong to, as PEFT is to be told; the run's own unless named.
    #[arg(long, value_name = "ID|DIR")]
    pub base: Option<String>,
    #[command(flatten)]
    pub places: PlacesArguments,
}
