//! Somewhere pairs come from.

use std::collections::BTreeMap;

use wb_core::{Pair, Progress, fingerprint::Fingerprint};

use super::{gather::Gather, intake::Tolerance};
use crate::Result;

/// Somewhere pairs come from. The same files and config give the same pairs in the same order.
pub trait Source {
    /// The source's kind and place, for tables: `jsonl data/train.jsonl`.
    fn name(&self) -> String;

    /// Of the config and the content of every file that [`Source::read`] would read; nothing is parsed.
    fn fingerprint(&self) -> Result<Fingerprint>;

    /// Reads everything.
    fn read(&self, tolerance: impl Into<Tolerance>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead>
    where
        Self: Sized,
    {
        self.gather(Gather::new(tolerance.into()), progress)
    }

    /// Gives every pair to `take`, in order; an error of `take` ends it. What it returns has no pairs.
    /// Files of records are read record by record; other sources may hold all of theirs in memory.
    fn each(
        &self,
        tolerance: impl Into<Tolerance>,
        take: &mut dyn FnMut(Pair) -> Result<()>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<SourceRead>
    where
        Self: Sized,
    {
        self.gather(Gather::to(tolerance.into(), take), progress)
    }

    /// Reads everything into what gathers pairs.
    fn gather(&self, gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead>;
}

/// What came out of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRead {
    /// The source's kind and place.
    pub name: String,
    /// The pairs in file order, with unique ids.
    pub pairs: Vec<Pair>,
    /// Records that gave no pair, by reason: bad ones, and those that the config leaves out.
    pub skipped: BTreeMap<String, u64>,
    /// As [`Source::fingerprint`].
    pub fingerprint: Fingerprint,
}
