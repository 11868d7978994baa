//! A plan: what is to be done, of which inputs, by which build, in which ranges. It is written once and never changed.

use std::{collections::BTreeMap, ops::Range, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use wb_core::{Error, fingerprint::Fingerprint};

use crate::{Created, PlannedInput, Result, Store};

/// Name of a plan in its place.
const PLAN: &str = "plan.json";

/// The plan of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardPlan {
    /// Name of the stage.
    pub stage: String,
    /// The build that every attempt has to be made by.
    pub build: PlannedBuild,
    /// Rows in all.
    pub rows: u64,
    /// Rows of a shard; the last may have fewer.
    pub rows_per_shard: u64,
    /// Files that the shards read, by names of the stage's own.
    pub inputs: BTreeMap<String, PlannedInput>,
    /// Settings of the stage, all of them resolved.
    pub task: Value,
}

/// A build, as far as it decides bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedBuild {
    /// Version and source.
    pub code: String,
    /// Features that are compiled in.
    pub features: Vec<String>,
    /// Kind of device that computes: vectors of a processor and of a GPU differ in rounding.
    pub device: String,
}

/// A plan in its place.
#[derive(Debug, Clone)]
pub struct OpenPlan {
    pub(crate) plan: ShardPlan,
    /// The place that plans share.
    work: Store,
    /// The plan's own part of it.
    pub(crate) own: Store,
}

impl ShardPlan {
    /// The plan's name: its content's.
    pub fn id(&self) -> String {
        format!("{}-{}", self.stage, Fingerprint::of_json(self).short())
    }

    /// Number of shards.
    pub fn shards(&self) -> u32 {
        self.rows.div_ceil(self.rows_per_shard.max(1)) as u32
    }

    /// Rows of a shard.
    ///
    /// # Errors
    ///
    /// If there is no such shard.
    pub fn range(&self, shard: u32) -> Result<Range<u64>> {
        if shard >= self.shards() {
            let message = format!("got {shard}, expected a shard from 0 to {}", self.shards().saturating_sub(1));
            return Err(Error::value("shard", message));
        }
        let from = u64::from(shard) * self.rows_per_shard;
        Ok(from..(from + self.rows_per_shard).min(self.rows))
    }

    /// Settings of the stage, typed.
    pub fn typed_task<T: DeserializeOwned>(&self) -> Result<T> {
        let typed = serde_json::from_value(self.task.clone());
        typed.map_err(|error| Error::failed(format!("the plan's task is none of {}", self.stage)).with_cause(error))
    }

    /// Refuses another build than that of the plan.
    pub fn check_build(&self, here: &PlannedBuild) -> Result<()> {
        let features = |build: &PlannedBuild| build.features.join(", ");
        let differs = [
            ("code", self.build.code.clone(), here.code.clone()),
            ("features", features(&self.build), features(here)),
            ("device", self.build.device.clone(), here.device.clone()),
        ];
        match differs.into_iter().find(|(_, planned, here)| planned != here) {
            None => Ok(()),
            Some((what, planned, here)) => {
                let message = format!("the {what} here: {here}; of the plan: {planned}");
                Err(Error::failed(format!("this wb would not make what was planned: {message}"))
                    .with_hint("start the very program that planned it, or plan again with this one"))
            }
        }
    }
}

impl OpenPlan {
    /// Puts a plan into the place, unless it is there.
    pub fn write(work: &Store, plan: ShardPlan) -> Result<Self> {
        let own = work.at(&plan.id());
        let mut json = to_json(&plan)?;
        json.push(b'\n');
        match own.create(PLAN, json)? {
            Created::Ours => Ok(Self { plan, work: work.clone(), own }),
            Created::Theirs => Self::open_in(work, &plan.id()),
        }
    }

    /// Opens a plan by its place.
    ///
    /// # Errors
    ///
    /// If there is none, or not the one that its name says.
    pub fn open(place: &str) -> Result<Self> {
        let place = place.trim_end_matches('/');
        let place = place.strip_suffix(PLAN).map_or(place, |place| place.trim_end_matches('/'));
        let is_folder = !place.contains("://");
        if is_folder && !Path::new(place).is_dir() {
            return Err(no_plan(place));
        }
        // As it is, and not as it is typed from where one stands: `.` has no name.
        let whole = if is_folder {
            std::fs::canonicalize(place).map_err(Error::io("read", place))?.display().to_string()
        } else {
            place.to_owned()
        };
        let Some((work, id)) = whole.rsplit_once('/') else { return Err(no_plan(place)) };
        Self::open_in(&Store::open(if work.is_empty() { "/" } else { work })?, id)
    }

    /// Opens a plan by its name in a place.
    pub fn open_in(work: &Store, id: &str) -> Result<Self> {
        let (own, work) = (work.at(id), work.clone());
        let Some(bytes) = own.get(PLAN)? else { return Err(no_plan(&own.place())) };
        let plan: ShardPlan = of_json(&own, PLAN, &bytes)?;
        if plan.id() != id {
            let message = format!("was changed: its content is that of {}", plan.id());
            return Err(Error::data(own.shown(PLAN), message).with_hint("plan again: a plan is not edited"));
        }
        Ok(Self { plan, work, own })
    }

    /// The plan.
    pub fn plan(&self) -> &ShardPlan {
        &self.plan
    }

    /// The place as it is typed: the argument of all that is done with the plan.
    pub fn place(&self) -> String {
        self.own.place()
    }

    /// The place that plans share, with the inputs.
    pub fn work(&self) -> &Store {
        &self.work
    }
}

fn no_plan(place: &str) -> Error {
    Error::unknown("plan", place).with_hint("the last line that `wb shards plan` prints is the plan's place")
}

/// A record as JSON that people can read.
pub(crate) fn to_json(record: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(record).map_err(|error| Error::failed("a record is no JSON").with_cause(error))
}

/// A record of a store.
pub(crate) fn of_json<T: DeserializeOwned>(store: &Store, name: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::json(store.shown(name), &error))
}
