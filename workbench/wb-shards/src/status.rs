//! Progress of a plan's shards, as their manifests and the words of attempts say.

use std::{
    collections::{HashMap, HashSet},
    thread,
};

use serde::Serialize;
use wb_core::Error;

use crate::{
    Result, ShardManifest,
    attempt::{AttemptProgress, PROGRESS},
    manifest::FOLDER,
    plan::OpenPlan,
};

/// Records that are asked for at once.
const AT_ONCE: usize = 16;
/// Seconds without a word, after which an attempt counts as silent.
const SILENT: i64 = 120;
/// Times the median of the seconds of a shard, after which an attempt is a straggler.
const STRAGGLER: f64 = 3.0;

/// State of a plan's shards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkStatus {
    /// Place of the plan.
    pub plan: String,
    /// Number of shards.
    pub shards: u32,
    /// Shards that are done.
    pub done: u32,
    /// Rows in all.
    pub rows: u64,
    /// Rows of shards that are done.
    pub rows_done: u64,
    /// Rows a second, of all machines together, since the first attempt began.
    pub rows_per_second: Option<f64>,
    /// Seconds that are left at this rate.
    pub seconds_left: Option<f64>,
    /// Attempts that have said a word and are not done.
    pub running: Vec<ShardState>,
    /// Shards of which there is neither a manifest nor a word.
    pub waiting: u32,
}

/// State of an attempt that is not done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShardState {
    /// The shard, from 0.
    pub shard: u32,
    /// The attempt: host, a random part, process.
    pub attempt: String,
    /// Work that is being done.
    pub doing: String,
    /// Parts of that which are done.
    pub done: u64,
    /// Parts of that in all, 0 where they are not known.
    pub total: u64,
    /// Seconds since its start.
    pub seconds: f64,
    /// True where it has said nothing for two minutes: it may be dead.
    pub is_silent: bool,
    /// True where it takes three times as long as the others did.
    pub is_straggler: bool,
}

impl OpenPlan {
    /// Shards that are not done, in order.
    pub fn missing(&self) -> Result<Vec<u32>> {
        let done = self.done()?;
        Ok((0..self.plan.shards()).filter(|shard| !done.contains_key(shard)).collect())
    }

    /// Names of the manifests that are there, by their shards.
    fn done(&self) -> Result<HashMap<u32, String>> {
        let number = |name: &str| name.rsplit('/').next()?.strip_suffix(".json")?.parse().ok();
        let listed = self.own.list(FOLDER)?;
        Ok(listed.into_iter().filter_map(|(name, _)| Some((number(&name)?, name))).collect())
    }

    /// Manifests of all shards that are done, in order.
    pub(crate) fn manifests(&self) -> Result<Vec<ShardManifest>> {
        let mut shards: Vec<u32> = self.done()?.into_keys().filter(|shard| *shard < self.plan.shards()).collect();
        shards.sort_unstable();
        Ok(at_once(&shards, |shard| self.manifest(*shard))?.into_iter().flatten().collect())
    }

    /// State of all shards at this moment.
    pub fn status(&self) -> Result<WorkStatus> {
        let manifests = self.manifests()?;
        let now = jiff::Timestamp::now();
        let words = at_once(&self.own.list(PROGRESS)?, |(name, _)| self.own.get(name))?;
        // A word may be taken away, or written, at this moment.
        let words =
            words.into_iter().flatten().filter_map(|bytes| serde_json::from_slice::<AttemptProgress>(&bytes).ok());
        let mut seconds: Vec<f64> = manifests.iter().map(|manifest| manifest.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let median = seconds.get(seconds.len() / 2).copied();
        let is_done: HashSet<u32> = manifests.iter().map(|manifest| manifest.shard).collect();
        let mut running: Vec<ShardState> = words
            .filter(|word| !is_done.contains(&word.shard))
            .map(|word| {
                let silence = now.as_second() - word.at;
                let so_far = word.seconds + silence.max(0) as f64;
                ShardState {
                    shard: word.shard,
                    attempt: word.attempt,
                    doing: word.doing,
                    done: word.done[0],
                    total: word.done[1],
                    seconds: so_far,
                    is_silent: silence > SILENT,
                    is_straggler: median.is_some_and(|median| so_far > STRAGGLER * median),
                }
            })
            .collect();
        running.sort_by(|one, other| (one.shard, &one.attempt).cmp(&(other.shard, &other.attempt)));
        let rows_done = manifests.iter().map(|manifest| manifest.rows[1] - manifest.rows[0]).sum();
        let begun = manifests.iter().filter_map(|manifest| manifest.started.parse::<jiff::Timestamp>().ok()).min();
        // What was done before a pause of days says nothing: the end of the last one bounds the time.
        let ends = manifests.iter().filter_map(|manifest| {
            let started: jiff::Timestamp = manifest.started.parse().ok()?;
            Some(started.as_second() as f64 + manifest.seconds)
        });
        let last = ends.fold(f64::MIN, f64::max);
        let rate = begun.map(|begun| rows_done as f64 / (last - begun.as_second() as f64).max(1.0));
        let shards_running: HashSet<u32> = running.iter().map(|state| state.shard).collect();
        let waiting = self.plan.shards() - (is_done.len() + shards_running.len()) as u32;
        Ok(WorkStatus {
            plan: self.place(),
            shards: self.plan.shards(),
            done: is_done.len() as u32,
            rows: self.plan.rows,
            rows_done,
            rows_per_second: rate,
            seconds_left: rate.filter(|rate| *rate > 0.0).map(|rate| (self.plan.rows - rows_done) as f64 / rate),
            running,
            waiting,
        })
    }
}

/// Asks for several things at once, in their order.
fn at_once<A: Sync, T: Send>(all: &[A], ask: impl Fn(&A) -> Result<T> + Sync) -> Result<Vec<T>> {
    let size = all.len().div_ceil(AT_ONCE).max(1);
    thread::scope(|scope| {
        let threads: Vec<_> =
            all.chunks(size).map(|part| scope.spawn(|| part.iter().map(&ask).collect::<Result<Vec<T>>>())).collect();
        let mut found = Vec::with_capacity(all.len());
        for thread in threads {
            found.extend(thread.join().map_err(|_| Error::failed("a thread that asks the store has ended"))??);
        }
        Ok(found)
    })
}
