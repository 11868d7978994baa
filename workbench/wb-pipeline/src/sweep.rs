//! Sweeps: one YAML, and a run for every combination of the values that it lists for some keys.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Error;

use crate::{config::Experiment, listings, output, pages};

/// Most runs of a sweep: a larger one is a list that was not meant.
const MOST: usize = 1000;
/// Keys that decide no number, or that a sweep cannot set.
const NOT_SWEPT: [&str; 5] = ["name", "sweep", "work", "run_on", "journals"];

/// Values by the path of their key, `train.epochs: [1, 2, 3]`; a run for every combination, the last key first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SweepConfig(BTreeMap<String, Vec<serde_json::Value>>);

impl SweepConfig {
    /// Refuses keys that cannot be swept, keys without values, and too many runs; `key` is the config path.
    pub fn validate(&self, key: &str) -> Result<(), Error> {
        if self.0.is_empty() {
            return Err(Error::value(key, "has no keys, expected one or more: { seed: [1, 2, 3] }"));
        }
        for (path, values) in &self.0 {
            let first = path.split(['.', '[']).next().unwrap_or_default();
            if NOT_SWEPT.contains(&first) {
                let message = format!("`{path}` cannot be swept: it decides nothing of what a run comes to");
                return Err(Error::value(key, message));
            }
            if values.is_empty() {
                return Err(Error::value(key, format!("`{path}` has no values, expected one or more")));
            }
        }
        let runs = self.0.values().fold(1usize, |runs, values| runs.saturating_mul(values.len()));
        if runs > MOST {
            return Err(Error::value(key, format!("{runs} runs, expected at most {MOST}")));
        }
        Ok(())
    }

    /// The overrides of each run, in order.
    pub fn points(&self) -> Vec<Vec<String>> {
        let mut points = vec![Vec::new()];
        for (key, values) in &self.0 {
            let longer = |point: &Vec<String>| {
                let with = |value| [point.clone(), vec![format!("{key}={value}")]].concat();
                values.iter().map(with).collect::<Vec<_>>()
            };
            points = points.iter().flat_map(longer).collect();
        }
        points
    }
}

/// A run of a sweep.
#[derive(Debug, Clone)]
pub struct SweptRun {
    /// The overrides that make it.
    pub point: Vec<String>,
    /// The experiment that they make of the file's.
    pub experiment: Experiment,
}

/// The runs of a file's sweep; the file's own one, without overrides, where it has none. All of them are checked before the
/// first begins.
///
/// # Errors
///
/// If one of them makes no sense, which names the override.
pub fn experiments(
    experiment: Experiment,
    (command, file, overrides): (&'static str, &Path, &[String]),
) -> Result<Vec<SweptRun>> {
    let Some(points) = experiment.sweep.as_ref().map(SweepConfig::points) else {
        return Ok(vec![SweptRun { point: Vec::new(), experiment }]);
    };
    let load = |point: Vec<String>| {
        let all = [overrides, &point, &["sweep=null".to_owned()]].concat();
        Ok(SweptRun { point, experiment: Experiment::load(command, file, &all)? })
    };
    points.into_iter().map(load).collect()
}

/// Tells what a sweep's runs came to, best first, and writes their page.
///
/// # Errors
///
/// If the page cannot be written.
pub fn print(name: &str, ids: &[String], runs: &Path, reports: &Path) -> Result<Option<PathBuf>> {
    listings::leaderboards_of(runs, ids)?;
    let page = pages::sweep(name, ids, runs, reports)?;
    let place = page.as_ref().map_or_else(|| "wb ls --leaderboard".to_owned(), |page| page.display().to_string());
    output::line(format!("sweep of {} runs: {place}", ids.len()));
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(json: &str) -> SweepConfig {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn every_combination_is_a_run() {
        let swept = sweep(r#"{"train.epochs": [1, 2], "seed": [7], "train.loss": [{"mnrl": {"scale": 20}}, "none"]}"#);
        let points = swept.points();
        let epochs = |n: u8| format!("train.epochs={n}");
        let loss = ["train.loss={\"mnrl\":{\"scale\":20}}", "train.loss=\"none\""].map(str::to_owned);
        assert_eq!(points.len(), 4);
        assert_eq!(points[0], ["seed=7".to_owned(), epochs(1), loss[0].clone()]);
        assert_eq!(points[3], ["seed=7".to_owned(), epochs(2), loss[1].clone()]);
        assert_eq!(SweepConfig::default().points(), [Vec::<String>::new()]);
    }

    #[test]
    fn what_cannot_be_swept_is_told() {
        for (json, told) in [
            (r#"{"name": ["a", "b"]}"#, "sweep: `name` cannot be swept"),
            (r#"{"seed": []}"#, "sweep: `seed` has no values"),
        ] {
            assert!(sweep(json).validate("sweep").unwrap_err().to_string().starts_with(told), "{json}");
        }
        let many: Vec<u32> = (0..40).collect();
        let many = serde_json::json!({"seed": many, "train.epochs": many}).to_string();
        assert_eq!(sweep(&many).validate("sweep").unwrap_err().to_string(), "sweep: 1600 runs, expected at most 1000");
    }
}
