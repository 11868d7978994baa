//! `data.json`: what was read, what was dropped and why, how it was split, and what leaks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The data card of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DataCard {
    /// One entry a source, in config order.
    pub sources: Vec<SourceCount>,
    /// Each gate in the order it was applied.
    pub gates: Vec<Gate>,
    /// `train`, `validation`, `test`.
    pub splits: BTreeMap<String, SplitCount>,
    /// Overlap of the test split with the training split.
    pub leaks: Vec<Leak>,
    /// Licences as found, with the number of pairs.
    pub licenses: BTreeMap<String, u64>,
}

/// Account of one source.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceCount {
    /// The source's kind and place.
    pub name: String,
    /// Pairs that it gave.
    pub pairs: u64,
    /// Units that gave no pair, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// One gate: how many went in, how many came out, and why the others did not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// `filter`, `exact duplicates`, `near duplicates`, `balance`.
    pub name: String,
    /// Pairs before.
    pub before: u64,
    /// Pairs after.
    pub after: u64,
    /// Dropped pairs by reason.
    pub dropped: BTreeMap<String, u64>,
    /// A few dropped pairs, for a reader's eyes.
    pub examples: Vec<DroppedPair>,
}

/// A dropped pair.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DroppedPair {
    /// Reason.
    pub reason: String,
    /// Its id.
    pub id: String,
    /// The beginning of its anchor.
    pub anchor: String,
}

/// One side of a split.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitCount {
    /// Pairs, texts without a label counted as such.
    pub pairs: u64,
    /// Texts without a label among them.
    #[serde(default)]
    pub texts: u64,
    /// Groups (crates, repositories).
    pub groups: u64,
    /// Pairs per language.
    pub languages: BTreeMap<String, u64>,
    /// Pairs per data set.
    #[serde(default)]
    pub datasets: BTreeMap<String, u64>,
}

/// One kind of overlap between train and test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Leak {
    /// `group`, `exact anchor`, `exact positive`, `near positive`.
    pub kind: String,
    /// Test pairs that have it.
    pub count: u64,
    /// Test pairs in all.
    pub of: u64,
    /// A few, as `test id = train id`.
    pub examples: Vec<String>,
}
