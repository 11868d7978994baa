//! The manifest of a shard: what was made of it. It is created once, and that it is there means that the shard is done.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use wb_core::Error;

use crate::{
    Result,
    plan::{OpenPlan, of_json},
};

/// Folder of the manifests.
pub(crate) const FOLDER: &str = "shards";

/// Result of an attempt at a shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardManifest {
    /// The plan's name.
    pub plan: String,
    /// The shard, from 0.
    pub shard: u32,
    /// The attempt: host, a random part, process.
    pub attempt: String,
    /// Rows: from, and the end.
    pub rows: [u64; 2],
    /// Files that were made.
    pub files: Vec<ShardFile>,
    /// Account of the stage.
    pub account: Value,
    /// Start, in UTC.
    pub started: String,
    /// Seconds that it took.
    pub seconds: f64,
}

/// A file of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardFile {
    /// Name that the stage gives it, the same in every shard.
    pub name: String,
    /// Its object in the store.
    pub object: String,
    /// Length in bytes.
    pub bytes: u64,
    /// BLAKE3 of the content.
    pub blake3: String,
}

impl ShardManifest {
    /// Account of the stage, typed.
    pub fn typed_account<T: DeserializeOwned>(&self) -> Result<T> {
        let typed = serde_json::from_value(self.account.clone());
        let what = || format!("the manifest of shard {} has no account of its stage", self.shard);
        typed.map_err(|error| Error::failed(what()).with_cause(error))
    }
}

/// The name of a shard's manifest.
pub(crate) fn name_of(shard: u32) -> String {
    format!("{FOLDER}/{shard:05}.json")
}

impl OpenPlan {
    /// The manifest of a shard; none where it is not done.
    pub fn manifest(&self, shard: u32) -> Result<Option<ShardManifest>> {
        let name = name_of(shard);
        let Some(bytes) = self.own.get(&name)? else { return Ok(None) };
        let manifest: ShardManifest = of_json(&self.own, &name, &bytes)?;
        let range = self.plan.range(shard)?;
        let found = (manifest.plan.as_str(), manifest.shard, manifest.rows);
        let wanted = (self.plan.id(), shard, [range.start, range.end]);
        if found != (wanted.0.as_str(), wanted.1, wanted.2) {
            let message = format!("is of {} shard {}, rows {:?}", found.0, found.1, found.2);
            return Err(Error::data(self.own.shown(&name), message).with_hint(self.again(shard)));
        }
        Ok(Some(manifest))
    }

    /// The command that makes a shard again.
    pub(crate) fn again(&self, shard: u32) -> String {
        format!("wb shards run {} --shard {shard} --anew", self.place())
    }

    /// Takes a shard's manifest away, so that it is to be done again; true where there was one.
    pub fn forget(&self, shard: u32) -> Result<bool> {
        self.plan.range(shard)?;
        self.own.delete(&name_of(shard))
    }
}
