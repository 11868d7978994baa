//! A YAML and values to set in it, as they are typed behind a command.

use std::path::{Path, PathBuf};

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

/// The file and the values among what was typed: without a file, the first value stands in its place.
pub fn file_and_values(first: Option<PathBuf>, rest: Vec<String>) -> (Option<PathBuf>, Vec<String>) {
    let sets_a_value = |path: &Path| !path.exists() && path.to_str().is_some_and(|text| text.contains('='));
    let Some(value) = first.as_deref().filter(|first| sets_a_value(first)).and_then(Path::to_str) else {
        return (first, rest);
    };
    let mut all: Vec<String> = std::iter::once(value.to_owned()).chain(rest).collect();
    let file = all.iter().position(|text| !text.contains('=')).map(|at| PathBuf::from(all.remove(at)));
    (file, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_no_file_wherever_it_stands() {
        let split = |typed: &[&str]| {
            let mut typed = typed.iter().map(|text| (*text).to_owned());
            let first = typed.next().map(PathBuf::from);
            let (file, values) = file_and_values(first, typed.collect());
            (file.map(|file| file.display().to_string()), values.join(" "))
        };
        let told = |file: Option<&str>, values: &str| (file.map(str::to_owned), values.to_owned());
        assert_eq!(split(&[]), told(None, ""));
        assert_eq!(split(&["a.yaml"]), told(Some("a.yaml"), ""));
        assert_eq!(split(&["a.yaml", "seed=1"]), told(Some("a.yaml"), "seed=1"));
        assert_eq!(split(&["seed=1"]), told(None, "seed=1"));
        assert_eq!(split(&["seed=1", "name=x"]), told(None, "seed=1 name=x"));
        assert_eq!(split(&["seed=1", "a.yaml", "name=x"]), told(Some("a.yaml"), "seed=1 name=x"));
    }
}
