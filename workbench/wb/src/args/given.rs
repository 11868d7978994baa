//! A YAML and values to set in it, as they are typed behind a command.

use std::path::PathBuf;

use clap::Args;
use wb_encoder::DeviceConfig;

use super::PlacesArguments;

/// A YAML, or none, and values to set in it.
#[derive(Debug, Clone, Args)]
pub struct Given {
    /// The experiment's YAML file; without one, the recipes in configs are listed.
    pub config: Option<PathBuf>,
    /// Values to set in it, as key.path=value; the value is YAML.
    #[arg(value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Device to compute on: auto, cpu, cuda, cuda:N, metal, vulkan, wgpu. The same as device=...
    #[arg(long, value_parser = super::device)]
    pub device: Option<DeviceConfig>,
    #[command(flatten)]
    pub places: PlacesArguments,
}

/// A YAML, values to set in it, and where a language model's answers are written and read.
#[derive(Debug, Args)]
pub struct GivenLedger {
    /// The experiment's YAML file.
    pub config: PathBuf,
    /// Values to set in it, as key.path=value; the value is YAML.
    #[arg(value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// The folder of what is made, with the ledger of answers [default: datasets/synthetic/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Takes every answer from this ledger, and asks nobody.
    #[arg(long, value_name = "LEDGER")]
    pub replay: Option<PathBuf>,
}

/// A YAML that is there, with overrides.
#[derive(Debug)]
pub struct ExperimentArguments {
    /// The file.
    pub config: PathBuf,
    /// Values to set in it, as key.path=value.
    pub overrides: Vec<String>,
    /// The device, if one was named.
    pub device: Option<DeviceConfig>,
    /// Folders in which things are kept.
    pub places: PlacesArguments,
}
