//! One attempt at a shard: work, files that nobody else writes, then the manifest, which is created once.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_core::{Error, Progress, atomic, fingerprint::Fingerprint};

use crate::{
    Created, Result, ShardFile, ShardManifest,
    manifest::name_of,
    plan::{OpenPlan, to_json},
};

/// Folder of what attempts made.
pub(crate) const DATA: &str = "data";
/// Folder of how far attempts are.
pub(crate) const PROGRESS: &str = "progress";
/// Time between two words of an attempt on how far it is.
const WORD: Duration = Duration::from_secs(30);

/// Files that the work at a shard has made, on this machine.
#[derive(Debug, Default)]
pub struct ShardOutput {
    /// Names of the stage's own, and where the files are.
    pub files: Vec<(String, PathBuf)>,
    /// Account of the stage.
    pub account: Value,
}

/// The end of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptEnd {
    /// The shard is done, by this attempt.
    Committed(ShardManifest),
    /// The shard was done before this attempt began.
    There(ShardManifest),
    /// The shard was done by another attempt while this one worked, whose files are taken away.
    Lost(ShardManifest),
}

/// Progress of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttemptProgress {
    /// The shard, from 0.
    pub shard: u32,
    /// The attempt.
    pub attempt: String,
    /// Work that is being done.
    pub doing: String,
    /// Parts of that which are done, and all of them.
    pub done: [u64; 2],
    /// Seconds since its start.
    pub seconds: f64,
    /// Moment of this word, in seconds since 1970.
    pub at: i64,
}

impl OpenPlan {
    /// Works at a shard unless it is done. `work` gets the rows, a folder of its own below `scratch` that is gone
    /// afterwards, and the progress.
    pub fn attempt<E: From<Error>>(
        &self,
        shard: u32,
        scratch: &Path,
        progress: &mut dyn FnMut(Progress),
        work: impl FnOnce(Range<u64>, &Path, &mut dyn FnMut(Progress)) -> Result<ShardOutput, E>,
    ) -> Result<AttemptEnd, E> {
        let rows = self.plan.range(shard)?;
        if let Some(manifest) = self.manifest(shard)? {
            return Ok(AttemptEnd::There(manifest));
        }
        let attempt = atomic::writer_name();
        let (started, begun) = (jiff::Timestamp::now(), Instant::now());
        let mut told = Told { plan: self, shard, attempt: &attempt, begun, last: None };
        let mut both = |now: Progress| {
            told.tell(&now);
            progress(now);
        };
        let made = atomic::in_scratch(&scratch.join(self.plan.id()), |folder| -> Result<_, E> {
            let output = work(rows.clone(), folder, &mut both)?;
            let mut files = Vec::new();
            for (name, path) in output.files {
                both(Progress::new("writing to the store", files.len(), 0).note(name.clone()));
                files.push(self.keep(shard, &attempt, name, &path)?);
            }
            Ok((files, output.account))
        });
        let (files, account) = made?;
        let manifest = ShardManifest {
            plan: self.plan.id(),
            shard,
            attempt: attempt.clone(),
            rows: [rows.start, rows.end],
            files,
            account,
            started: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            seconds: (begun.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        };
        let mut json = to_json(&manifest)?;
        json.push(b'\n');
        let created = self.own.create(&name_of(shard), json)?;
        told.forget();
        match (created, self.manifest(shard)?) {
            (Created::Ours, _) => Ok(AttemptEnd::Committed(manifest)),
            // The answer to an own request that went through can be lost, and its repetition find the own manifest.
            (Created::Theirs, Some(there)) if there.attempt == attempt => Ok(AttemptEnd::Committed(there)),
            (Created::Theirs, Some(there)) => {
                for file in &manifest.files {
                    self.own.remove(&file.object)?;
                }
                Ok(AttemptEnd::Lost(there))
            }
            (Created::Theirs, None) => {
                let what = format!("the manifest of shard {shard} was taken away while it was made");
                Err(Error::failed(what).of_kind(crate::TryAgain::Later).into())
            }
        }
    }

    /// Puts a file into the store under a name that no other attempt has.
    fn keep(&self, shard: u32, attempt: &str, name: String, path: &Path) -> Result<ShardFile> {
        let bytes = path.metadata().map_err(Error::io("read", path))?.len();
        let blake3 = Fingerprint::of_file(path)?;
        // One level: the names of files in folders have none of their own.
        let flat = name.replace('/', "+");
        let object = format!("{DATA}/{shard:05}-{attempt}-{}-{flat}", blake3.short());
        self.own.upload(&object, path)?;
        Ok(ShardFile { name, object, bytes, blake3: blake3.as_str().to_owned() })
    }
}

/// Words of an attempt on how far it is. Nobody depends on them: those that cannot be written are not missed.
struct Told<'a> {
    plan: &'a OpenPlan,
    shard: u32,
    attempt: &'a str,
    begun: Instant,
    last: Option<Instant>,
}

impl Told<'_> {
    fn name(&self) -> String {
        format!("{PROGRESS}/{:05}-{}.json", self.shard, self.attempt)
    }

    fn tell(&mut self, now: &Progress) {
        if self.last.is_some_and(|last| last.elapsed() < WORD) {
            return;
        }
        self.last = Some(Instant::now());
        let word = AttemptProgress {
            shard: self.shard,
            attempt: self.attempt.to_owned(),
            doing: now.stage.to_owned(),
            done: [now.done, now.total],
            seconds: (self.begun.elapsed().as_secs_f64() * 10.0).round() / 10.0,
            at: jiff::Timestamp::now().as_second(),
        };
        if let Ok(json) = to_json(&word) {
            let _ = self.plan.own.put(&self.name(), json);
        }
    }

    fn forget(&self) {
        let _ = self.plan.own.remove(&self.name());
    }
}
