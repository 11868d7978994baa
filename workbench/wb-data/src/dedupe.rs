//! Exact and near duplicates: the first in order is kept.

use std::collections::HashMap;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Pair, records::data::Gate};

use crate::{
    gate::gate,
    minhash::{Bands, sketches},
    text::folded_hash,
};

/// What counts as the same pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DedupeConfig {
    /// Which texts make two pairs equal, white space folded: `off`, `positive`, or `pair` for both sides together.
    pub exact: Exact,
    /// Pairs with equal anchors: `keep_first`, or `keep`. In one batch, the positive of one would be a false negative
    /// of the other.
    pub same_anchor: SameAnchor,
    /// Positives whose sets of five-token shingles have at least this Jaccard similarity are near duplicates; `0` for
    /// off, else 0.3 to 1. Candidates come from MinHash and are confirmed by the true similarity. Seconds for 50,000
    /// pairs.
    pub near: f64,
}

impl Default for DedupeConfig {
    fn default() -> Self {
        Self { exact: Exact::default(), same_anchor: SameAnchor::default(), near: 0.85 }
    }
}

/// Which texts make two pairs equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exact {
    /// No two pairs are equal.
    Off,
    /// Equal positives.
    #[default]
    Positive,
    /// Equal anchors and equal positives.
    Pair,
}

/// What to do with pairs that have the same anchor.
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
    /// Nothing is a duplicate.
    pub fn off() -> Self {
        Self { exact: Exact::Off, same_anchor: SameAnchor::Keep, near: 0.0 }
    }

    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.near != 0.0 && !(0.3..=1.0).contains(&self.near) {
            let message = format!("got {}, expected 0 (off) or a Jaccard similarity between 0.3 and 1", self.near);
            return Err(wb_core::Error::value(format!("{key}.near"), message));
        }
        Ok(())
    }
}

/// Pairs without duplicates, in order, and one account for each kind that was looked for.
pub fn dedupe(pairs: Vec<Pair>, config: &DedupeConfig) -> (Vec<Pair>, Vec<Gate>) {
    let mut gates = Vec::new();
    let mut pairs = pairs;
    let mut pass = |pairs: &mut Vec<Pair>, name: &str, reason: &str, first: &[usize]| {
        // The number of clusters is told in the reason, beside the number of pairs that they lost.
        let reason = format!("{reason} ({} clusters)", clusters(first));
        let (kept, account) =
            gate(name, std::mem::take(pairs), |index, _| (first[index] != index).then(|| reason.clone()));
        *pairs = kept;
        gates.push(account);
    };
    if config.exact != Exact::Off {
        let first = first_by(&pairs, |pair| match config.exact {
            Exact::Pair => (folded_hash(&pair.anchor), folded_hash(&pair.positive)),
            _ => (0, folded_hash(&pair.positive)),
        });
        pass(
            &mut pairs,
            "exact duplicates",
            if config.exact == Exact::Pair { "same pair" } else { "same positive" },
            &first,
        );
    }
    if config.same_anchor == SameAnchor::KeepFirst {
        let first = first_by(&pairs, |pair| (folded_hash(&pair.anchor), 0));
        pass(&mut pairs, "same anchor", "same anchor", &first);
    }
    if config.near > 0.0 {
        let texts: Vec<&str> = pairs.iter().map(|pair| pair.positive.as_str()).collect();
        let first = near_duplicates(&texts, config.near);
        pass(&mut pairs, "near duplicates", &format!("positive with Jaccard ≥ {}", config.near), &first);
    }
    (pairs, gates)
}

/// For each text the position of the kept one that it is a near duplicate of; its own where it is kept.
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

/// For each pair the position of the first with the same key.
fn first_by<K: std::hash::Hash + Eq>(pairs: &[Pair], key: impl Fn(&Pair) -> K) -> Vec<usize> {
    let mut first = HashMap::with_capacity(pairs.len());
    pairs.iter().enumerate().map(|(index, pair)| *first.entry(key(pair)).or_insert(index)).collect()
}

/// Kept texts that others were dropped for.
fn clusters(first: &[usize]) -> usize {
    let mut heads: Vec<usize> =
        first.iter().enumerate().filter(|(index, first)| index != *first).map(|(_, first)| *first).collect();
    heads.sort_unstable();
    heads.dedup();
    heads.len()
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

    fn pair(id: &str, anchor: &str, positive: &str) -> Pair {
        Pair { id: id.into(), anchor: anchor.into(), positive: positive.into(), ..Pair::default() }
    }

    fn ids(pairs: &[Pair]) -> Vec<&str> {
        pairs.iter().map(|pair| pair.id.as_str()).collect()
    }

    #[test]
    fn exact_duplicates_fold_white_space_and_keep_the_first() {
        let pairs = || {
            vec![
                pair("a", "x", "f( a )\n"),
                pair("b", "y", "f( a\t)"),
                pair("c", "x  ", "g"),
                pair("d", " x", "f( a )"),
            ]
        };
        let only = |exact, same_anchor| dedupe(pairs(), &DedupeConfig { exact, same_anchor, near: 0.0 });
        assert_eq!(ids(&only(Exact::Positive, SameAnchor::Keep).0), ["a", "c"]);
        assert_eq!(ids(&only(Exact::Pair, SameAnchor::Keep).0), ["a", "b", "c"]);
        assert_eq!(ids(&only(Exact::Off, SameAnchor::KeepFirst).0), ["a", "b"]);
        let (kept, gates) = only(Exact::Positive, SameAnchor::KeepFirst);
        assert_eq!(ids(&kept), ["a"]);
        assert_eq!(
            gates.iter().map(|gate| (gate.name.as_str(), gate.before, gate.after)).collect::<Vec<_>>(),
            [("exact duplicates", 4, 2), ("same anchor", 2, 1)]
        );
        assert_eq!(gates[0].dropped.get("same positive (1 clusters)"), Some(&2));
        assert_eq!(ids(&dedupe(pairs(), &DedupeConfig::off()).0), ["a", "b", "c", "d"]);
    }

    #[test]
    fn impossible_thresholds_are_refused() {
        for near in [-0.1, 0.1, 1.1, f64::NAN] {
            assert!(DedupeConfig { near, ..DedupeConfig::default() }.validate("d").is_err(), "{near}");
        }
        assert!(DedupeConfig::default().validate("d").is_ok() && DedupeConfig::off().validate("d").is_ok());
    }
}
