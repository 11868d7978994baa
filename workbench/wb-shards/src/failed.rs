//! Words of attempts that no other attempt will do better: whoever starts attempts reads them, and stops.

use serde::{Deserialize, Serialize};
use wb_core::{Error, atomic};

use crate::{
    Result,
    plan::{OpenPlan, to_json},
};

/// Folder of the words.
const FAILED: &str = "failed";

/// A shard that cannot be done, as an attempt has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedShard {
    /// The shard, from 0.
    pub shard: u32,
    /// The attempt: host, a random part, process.
    pub attempt: String,
    /// The error and its causes, a line each.
    pub what: Vec<String>,
    /// A hint.
    pub hint: Option<String>,
}

impl OpenPlan {
    /// Leaves word that a shard cannot be done. Nobody depends on it: it is not missed where it cannot be written.
    pub fn give_up(&self, shard: u32, what: Vec<String>, hint: Option<String>) {
        let attempt = atomic::writer_name();
        let name = format!("{FAILED}/{shard:05}-{attempt}.json");
        if let Ok(json) = to_json(&FailedShard { shard, attempt, what, hint }) {
            let _ = self.own.create(&name, json);
        }
    }

    /// Words on shards that are not done, in order.
    pub fn failures(&self) -> Result<Vec<FailedShard>> {
        let words = self.own.list(FAILED)?;
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let missing = self.missing()?;
        let mut found = Vec::new();
        for (name, _) in words {
            let word = self.own.get(&name)?.and_then(|bytes| serde_json::from_slice::<FailedShard>(&bytes).ok());
            found.extend(word.filter(|word| missing.binary_search(&word.shard).is_ok()));
        }
        Ok(found)
    }

    /// Takes all such words away: it is to be tried again.
    pub fn forget_failures(&self) -> Result<()> {
        for (name, _) in self.own.list(FAILED)? {
            self.own.remove(&name)?;
        }
        Ok(())
    }
}

impl FailedShard {
    /// The words as an error.
    pub fn into_error(self) -> Error {
        let mut causes = self.what.into_iter().rev();
        let mut error = Error::failed(causes.next().unwrap_or_default());
        for above in causes {
            error = error.within(above);
        }
        error.within(format!("shard {} cannot be done", self.shard)).with_hint_if(self.hint)
    }
}
