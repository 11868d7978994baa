//! Work in parts on many machines, which meet in one place: a folder that they share, or a prefix of a bucket of S3.
//!
//! A [`ShardPlan`] cuts rows into ranges that do not depend on who works. An attempt at a shard ([`OpenPlan::attempt`])
//! writes files that no other attempt writes, then creates one manifest, which succeeds once: that is the commit. So
//! attempts may be killed, repeated and run beside each other; nothing is locked and nothing written over. A merge believes
//! nothing that it has not hashed. Who starts attempts, and where, is the business of Slurm, Kubernetes, Ray or a person.
//!
//! Begin with [`OpenPlan`]; [`Store`] is the one way to the place.

mod attempt;
mod failed;
mod input;
mod kept;
mod manifest;
mod merge;
mod number;
mod plan;
mod reader;
mod remote;
mod s3;
mod status;
mod store;

use wb_core::Error;
pub use wb_core::Result;

pub use self::{
    attempt::{AttemptEnd, ShardOutput},
    failed::FailedShard,
    input::{InputReader, PlannedInput},
    kept::KeptParts,
    manifest::{ShardFile, ShardManifest},
    merge::{MergedFile, MergedRecord, parts_of},
    number::shard_of_environment,
    plan::{OpenPlan, PlannedBuild, ShardPlan},
    reader::ShardReader,
    remote::Buckets,
    status::{ShardState, WorkStatus},
    store::{Created, Store},
};

/// Kind of an error that may not come again: a server that did not answer, a disk that is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TryAgain {
    /// Some time later.
    Later,
    /// Right away: what was read has changed meanwhile.
    AtOnce,
}

/// An error as one after which the same attempt may succeed at another time: what was asked of others did not come.
#[must_use]
pub fn passing(error: Error) -> Error {
    error.of_kind(TryAgain::Later)
}

/// True where the same attempt may succeed at another time or on another machine.
pub fn may_pass(error: &Error) -> bool {
    let own = matches!(error, Error::Io { .. } | Error::DiskFull { .. } | Error::Locked { .. });
    own || is_passing(error)
}

/// True for an error of [`passing`]: others were asked, and what was asked of them did not come.
pub fn is_passing(error: &Error) -> bool {
    error.kind::<TryAgain>().is_some()
}
