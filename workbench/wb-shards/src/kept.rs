//! Parts of work that outlive the attempt which did them: what a dead attempt has kept, the next one begins with.

use wb_core::atomic;

use crate::{Created, OpenPlan, Result, Store};

/// Folder of the parts.
pub(crate) const KEPT: &str = "kept";

/// Parts of one shard's work. Each is an object of its own, which is never written over.
#[derive(Debug)]
pub struct KeptParts {
    store: Store,
    shard: u32,
    attempt: String,
    written: u32,
}

impl KeptParts {
    /// All parts that attempts at the shard have kept, those of an attempt in their order.
    pub fn read(&self) -> Result<Vec<Vec<u8>>> {
        let own = format!("{KEPT}/{:05}-", self.shard);
        let names = self.store.list(KEPT)?.into_iter().map(|(name, _)| name).filter(|name| name.starts_with(&own));
        // One that is gone was swept after the shard was done.
        names.filter_map(|name| self.store.get(&name).transpose()).collect()
    }

    /// Keeps a part.
    pub fn add(&mut self, part: Vec<u8>) -> Result<()> {
        loop {
            let name = format!("{KEPT}/{:05}-{}-{:06}", self.shard, self.attempt, self.written);
            self.written += 1;
            // The answer to an own request that went through can be lost, and its repetition find the own part: whoever
            // reads two of one content reads the second for nothing.
            if self.store.create(&name, part.clone())? == Created::Ours {
                return Ok(());
            }
        }
    }
}

impl OpenPlan {
    /// The parts that attempts at a shard keep, for an attempt that begins.
    pub fn kept(&self, shard: u32) -> KeptParts {
        KeptParts { store: self.own.clone(), shard, attempt: atomic::writer_name(), written: 0 }
    }
}
