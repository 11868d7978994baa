//! Passes that are done, which later ones speak of by name and by what they made.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use wb_core::Error;
use wb_shards::{OpenPlan, ShardManifest, parts_of};

/// A pass that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EarlierPass {
    /// The plan's name.
    plan: String,
    /// Fingerprint of what its shards have made.
    parts: String,
}

impl EarlierPass {
    /// The name of its plan.
    pub(super) fn plan(&self) -> &str {
        &self.plan
    }
}

/// A pass that is done, opened.
pub(super) struct DonePass {
    pub(super) plan: OpenPlan,
    pub(super) manifests: Vec<ShardManifest>,
}

impl DonePass {
    /// A plan whose shards are all done.
    pub(super) fn of(plan: OpenPlan) -> Result<Self> {
        Ok(Self { manifests: plan.all_manifests()?, plan })
    }

    /// The pass that a later plan speaks of.
    pub(super) fn open(later: &OpenPlan, pass: &EarlierPass) -> Result<Self> {
        let found = Self::of(OpenPlan::open_in(later.work(), &pass.plan)?)?;
        if parts_of(&found.manifests) != pass.parts {
            let message = format!("its shards are others than those that {} was planned by", later.place());
            let hint = format!("wb shards merge {}", found.plan.place());
            return Err(Error::data(found.plan.place(), message).with_hint(hint).into());
        }
        Ok(found)
    }

    /// The pass as a later plan speaks of it.
    pub(super) fn earlier(&self) -> EarlierPass {
        EarlierPass { plan: self.plan.plan().id(), parts: parts_of(&self.manifests) }
    }
}
