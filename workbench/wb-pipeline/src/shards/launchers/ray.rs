//! Attempts as tasks of a Ray cluster, by the driver that ships in `launchers/ray`.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, atomic};
use wb_shards::OpenPlan;

use super::{program, words::last_words};

/// The driver, a program of Python.
const DRIVER: &str = include_str!("../../../../../launchers/ray/wb_on_ray.py");

/// A way out where there is no Python, or none that has Ray.
const NO_RAY: &str = "pip install ray, into a Python that run_on.ray.python names";

/// Tasks of one attempt at a shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RayTasks {
    /// The cluster; null for the one that the variable `RAY_ADDRESS` names, else `auto`, the one that this machine belongs to.
    pub address: Option<String>,
    /// Processors of an attempt.
    pub cpus: f64,
    /// GPUs of an attempt.
    pub gpus: f64,
    /// The Python that has Ray.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub python: PathBuf,
    /// The program on the nodes; null for this one, at its place here.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub program: Option<PathBuf>,
    /// Number of shards that a stage is cut into; null for shards of 262,144 rows, or fewer than a thousand.
    pub shards: Option<u64>,
}

impl Default for RayTasks {
    fn default() -> Self {
        Self { address: None, cpus: 1.0, gpus: 0.0, python: "python3".into(), program: None, shards: None }
    }
}

impl RayTasks {
    /// Has the driver start a task for each shard, and waits for its end.
    pub(super) fn work(&self, plan: &OpenPlan, scratch: &Path, tell: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let program = program(self.program.as_deref())?;
        atomic::in_scratch(&scratch.join("ray"), |inside| {
            let driver = inside.join("wb_on_ray.py");
            fs::write(&driver, DRIVER).map_err(Error::io("write", &driver))?;
            let mut command = Command::new(&self.python);
            command.arg(&driver).arg(plan.place()).arg("--wb").arg(program).arg("--scratch").arg(scratch);
            command.args(["--cpus", &self.cpus.to_string(), "--gpus", &self.gpus.to_string()]);
            let address = self.address.clone().or_else(|| std::env::var("RAY_ADDRESS").ok());
            command.env("RAY_ADDRESS", address.as_deref().unwrap_or("auto")).stdin(Stdio::null());
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| {
                Error::failed(format!("cannot start {}", self.python.display())).with_cause(error).with_hint(NO_RAY)
            })?;
            let (lines, words) = (child.stdout.take(), last_words(child.stderr.take()));
            for line in lines.into_iter().flat_map(|lines| BufReader::new(lines).lines()) {
                tell(line.context("cannot read what the driver says")?.trim())?;
            }
            let ended = child.wait().context("cannot wait for the driver")?;
            let words = words.join().unwrap_or_default();
            if ended.success() {
                return Ok(());
            }
            // Ray's own words are many, and its last ones say what it was.
            let last: Vec<&str> = words.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
            let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
            Err(Error::failed("the driver on Ray failed").with_cause(last).with_hint(hint(&words)).into())
        })
    }
}

/// A way out, by the driver's words.
fn hint(words: &str) -> &'static str {
    match words {
        _ if words.contains("No module named 'ray'") => NO_RAY,
        _ if words.contains("Failed to connect") => {
            "set RAY_AUTH_MODE, and RAY_AUTH_TOKEN where it is token, as the cluster has them"
        }
        _ if words.contains("Could not find any running Ray") => {
            "ray start --head, or run_on.ray.address=HOST:PORT of a cluster"
        }
        _ => "launchers/ray/README.md tells what the cluster needs",
    }
}
