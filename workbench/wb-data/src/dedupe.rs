//! Exact and near duplicates: the first in order is kept.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Pair, records::data::Gate};

use crate::{
    gate::Account,
    minhash::{Bands, check_threshold, sketches},
};

/// Rules by which pairs are duplicates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DedupeConfig {
    /// Texts that make two pairs equal, white space folded: `off`, `positive`, or `pair` for both sides together.
    pub exact: Exact,
    /// Pairs with equal anchors: `keep_first`, or `keep`. In one batch, the positive of one would be a false negative
    /// of the other.
    pub same_anchor: SameAnchor,
    /// Positives whose sets of five-token shingles have at least this Jaccard similarity are near duplicates; `0` for
    /// off, else 0.3 to 1. Candidates come from MinHash and are confirmed by the true similarity. Seconds for 50,000
    /// pairs, a minute for a million.
    pub near: f64,
}

impl Default for DedupeConfig {
    fn default() -> Self {
        Self { exact: Exact::default(), same_anchor: SameAnchor::default(), near: 0.85 }
    }
}

/// Texts that make two pairs equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exact {
    /// Nothing: no two pairs are equal.
    Off,
    /// Equal positives.
    #[default]
    Positive,
    /// Equal anchors and equal positives.
    Pair,
}

/// Treatment of pairs that have the same anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SameAnchor {
    /// Only the first is kept.
    #[default]
    KeepFirst,
    /// All are kept.
    Keep,
}

impl DedupeConfig {
    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        check_threshold(self.near, &format!("{key}.near"))
    }
}

/// Exact duplicates and equal anchors, found pair by pair in a few bytes for each.
pub(crate) struct ExactDuplicates {
    of_pairs: bool,
    texts: Option<Repeats<(u128, u128)>>,
    anchors: Option<Repeats<u128>>,
}

impl ExactDuplicates {
    pub(crate) fn new(config: &DedupeConfig) -> Self {
        Self {
            of_pairs: config.exact == Exact::Pair,
            texts: (config.exact != Exact::Off).then(Repeats::default),
            anchors: (config.same_anchor == SameAnchor::KeepFirst).then(Repeats::default),
        }
    }

    /// True for a pair that repeats none before it, by the hashes of its folded texts.
    pub(crate) fn keeps(&mut self, pair: &Pair, anchor: u128, positive: u128) -> bool {
        let key = (if self.of_pairs { anchor } else { 0 }, positive);
        self.texts.as_mut().is_none_or(|texts| texts.keeps(key, pair))
            && self.anchors.as_mut().is_none_or(|anchors| anchors.keeps(anchor, pair))
    }

    /// One account for each kind that was looked for.
    pub(crate) fn finish(self) -> Vec<Gate> {
        let what = if self.of_pairs { "same pair" } else { "same positive" };
        let texts = self.texts.map(|texts| texts.finish("exact duplicates", what));
        let anchors = self.anchors.map(|anchors| anchors.finish("same anchor", "same anchor"));
        texts.into_iter().chain(anchors).collect()
    }
}

/// The keys of the pairs so far, each with whether a later pair was dropped for it.
struct Repeats<K> {
    seen: HashMap<K, bool>,
    account: Account,
}

impl<K> Default for Repeats<K> {
    fn default() -> Self {
        Self { seen: HashMap::new(), account: Account::default() }
    }
}

impl<K: Hash + Eq> Repeats<K> {
    fn keeps(&mut self, key: K, pair: &Pair) -> bool {
        match self.seen.entry(key) {
            Entry::Occupied(mut known) => {
                known.insert(true);
                self.account.drop_pair("", pair);
                false
            }
            Entry::Vacant(free) => {
                free.insert(false);
                self.account.keep();
                true
            }
        }
    }

    fn finish(self, name: &str, reason: &str) -> Gate {
        let clusters = self.seen.into_values().filter(|repeated| *repeated).count();
        self.account.named(with_clusters(reason, clusters)).finish(name)
    }
}

/// A reason with the number of clusters, which stands beside the number of pairs that they lost.
fn with_clusters(reason: &str, clusters: usize) -> String {
    format!("{reason} ({clusters} clusters)")
}

/// Pairs whose positive is no near duplicate, in order, and the account of the others.
pub(crate) fn drop_near_duplicates(mut pairs: Vec<Pair>, threshold: f64) -> (Vec<Pair>, Gate) {
    let texts: Vec<&str> = pairs.iter().map(Pair::document).collect();
    let first: Vec<u32> = near_duplicates(&texts, threshold).into_iter().map(|text| text as u32).collect();
    let mut account = NearAccount::new(&first, threshold);
    pairs.retain(|pair| account.keeps(pair));
    (pairs, account.finish())
}

/// The account of near duplicates, pair by pair in order.
pub(crate) struct NearAccount<'a> {
    first: std::slice::Iter<'a, u32>,
    next: u32,
    reason: String,
    account: Account,
}

impl<'a> NearAccount<'a> {
    /// An account of pairs that are near the first pairs, their own where they stay.
    pub(crate) fn new(first: &'a [u32], threshold: f64) -> Self {
        let reason = with_clusters(&format!("positive with Jaccard ≥ {threshold}"), clusters(first));
        Self { first: first.iter(), next: 0, reason, account: Account::default() }
    }

    /// True where the next pair stays.
    pub(crate) fn keeps(&mut self, pair: &Pair) -> bool {
        let keeps = self.first.next() == Some(&self.next);
        self.next += 1;
        match keeps {
            true => self.account.keep(),
            false => self.account.drop_pair(&self.reason, pair),
        }
        keeps
    }

    pub(crate) fn finish(self) -> Gate {
        self.account.finish("near duplicates")
    }
}

/// Positions of kept texts: for each text that of the one that it nearly repeats, its own where it is kept itself.
///
/// In order, a text is dropped where its true Jaccard similarity to an earlier *kept* text reaches the threshold, so
/// every dropped text has a kept one like it, and no chain of small steps drops two texts that are far apart.
pub fn near_duplicates(texts: &[&str], threshold: f64) -> Vec<usize> {
    let sketches = sketches(texts);
    let bands = Bands::for_threshold(threshold);
    let keys: Vec<Vec<u64>> = sketches.par_iter().map(|sketch| bands.keys(sketch)).collect();
    let mut buckets: HashMap<u64, Vec<u32>, Keyed> = HashMap::default();
    let mut first: Vec<usize> = (0..texts.len()).collect();
    let mut asked = vec![u32::MAX; texts.len()];
    for (at, keys) in keys.into_iter().enumerate() {
        let stamp = at as u32;
        let mut found: Option<usize> = None;
        for candidate in keys.iter().filter_map(|key| buckets.get(key)).flatten() {
            let candidate = *candidate as usize;
            if asked[candidate] == stamp || found.is_some_and(|found| found <= candidate) {
                continue;
            }
            asked[candidate] = stamp;
            if sketches[at].near(&sketches[candidate], threshold) {
                found = Some(candidate);
            }
        }
        match found {
            Some(candidate) => first[at] = candidate,
            None => keys.into_iter().for_each(|key| buckets.entry(key).or_default().push(stamp)),
        }
    }
    first
}

/// Kept texts that others were dropped for.
fn clusters(first: &[u32]) -> usize {
    let mut is_head = vec![false; first.len()];
    for (index, first) in first.iter().enumerate().filter(|(index, first)| *index != **first as usize) {
        debug_assert!((*first as usize) < index, "a text is near an earlier one");
        is_head[*first as usize] = true;
    }
    is_head.into_iter().filter(|is_head| *is_head).count()
}

/// Band keys are hashes already.
type Keyed = std::hash::BuildHasherDefault<KeyHasher>;

#[derive(Default)]
struct KeyHasher(u64);

impl std::hash::Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_thresholds_are_refused() {
        for near in [-0.1, 0.1, 1.1, f64::NAN] {
            assert!(DedupeConfig { near, ..DedupeConfig::default() }.validate("d").is_err(), "{near}");
        }
        assert!(DedupeConfig::default().validate("d").is_ok());
        assert!(DedupeConfig { near: 0.0, ..DedupeConfig::default() }.validate("d").is_ok());
    }
}
