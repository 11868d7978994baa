//! Somewhere pairs come from.

use std::collections::BTreeMap;

use wb_core::{Pair, Progress, fingerprint::Fingerprint};

use super::gather::Gather;
use crate::Result;

/// Somewhere pairs come from. The same files and config give the same pairs in the same order.
pub trait PairSource {
    /// The source's kind and place, for tables: `jsonl data/train.jsonl`.
    fn name(&self) -> String;

    /// The source's key in a YAML (`jsonl`), and the data set that its pairs belong to; empty where the config names none.
    fn kind_and_dataset(&self) -> (&'static str, &str);

    /// Refuses values that make no sense; `key` is the config path of the source.
    fn validate(&self, key: &str) -> wb_core::Result<()>;

    /// The fingerprint of the config and of the content of every file that would be read; nothing is parsed.
    fn fingerprint(&self) -> Result<Fingerprint>;

    /// Reads everything into what gathers pairs.
    fn gather(&self, gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead>;
}

/// The pairs of a source, and the account of its other records.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRead {
    /// The source's kind and place.
    pub name: String,
    /// The pairs in file order, with unique ids.
    pub pairs: Vec<Pair>,
    /// Records that gave no pair, by reason: bad ones, and those that the config leaves out.
    pub skipped: BTreeMap<String, u64>,
    /// The answer of [`PairSource::fingerprint`].
    pub fingerprint: Fingerprint,
}
