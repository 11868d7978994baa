//! Everything that is needed to make a run again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Written as `manifest.json` when a run starts, so that a run that was stopped can be explained too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The run's id.
    pub run: String,
    /// The command as typed.
    pub command: String,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// `wb` version.
    pub version: String,
    /// Commit of the binary, or empty; `+` at the end where the tree was not clean.
    pub commit: String,
    /// A hash of the binary's source, or empty. Commits that change no code share it.
    #[serde(default)]
    pub source: String,
    /// Compiled features.
    pub features: Vec<String>,
    /// The device that was opened.
    pub device: String,
    /// True where the device gives the same bytes again, for the same seed, data and build.
    #[serde(default)]
    pub same_bytes: bool,
    /// Numbers in which the training multiplies matrices: `fp32`, `tf32 or fp32`, `bf16`, `f16`.
    #[serde(default)]
    pub products: String,
    /// Settings by which a device's kernels are made and chosen; empty where the processor computes alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernels: String,
    /// Operating system, processor kind, number of threads.
    pub machine: String,
    /// The seed.
    pub seed: u64,
    /// Fingerprint of the resolved config.
    pub config: String,
    /// Commits of the hub's repositories that it reads: `models/owner/name` and `datasets/owner/name`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repositories: BTreeMap<String, String>,
    /// Fingerprint of each input and of each stage's output, by name.
    pub fingerprints: BTreeMap<String, String>,
}
