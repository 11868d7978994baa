//! Resampling, so that no language drowns the others.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Pair, Seed, records::data::Gate};

use crate::gate::gate;

/// Limits on the number of training pairs of a language.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BalanceConfig {
    /// The most pairs per language, drawn by the seed; `0` for no limit.
    pub max_per_language: usize,
    /// The fewest pairs per language that has any, reached by repeats with `~2`, `~3` after their ids; `0` for none.
    /// Repeats never share a batch with their original under `sampler: no_duplicates`; under `shuffle` they would be
    /// false negatives, so prefer the limit there.
    pub min_per_language: usize,
}

impl BalanceConfig {
    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.max_per_language > 0 && self.min_per_language > self.max_per_language {
            let message =
                format!("got {}, expected at most max_per_language = {}", self.min_per_language, self.max_per_language);
            return Err(wb_core::Error::value(format!("{key}.min_per_language"), message));
        }
        Ok(())
    }

    /// True where there is nothing to do.
    pub fn is_off(&self) -> bool {
        self.max_per_language == 0 && self.min_per_language == 0
    }
}

/// Pairs with at most and at least so many a language: those drawn, in order, then repeats.
///
/// A pair's draw depends on the seed and its id alone, so that adding pairs hardly moves the choice.
pub fn balance(pairs: Vec<Pair>, config: &BalanceConfig, seed: Seed) -> (Vec<Pair>, Vec<Gate>) {
    let mut gates = Vec::new();
    let mut pairs = pairs;
    if config.max_per_language > 0 {
        let mut over = vec![false; pairs.len()];
        for members in by_language(&pairs, seed).values() {
            members.iter().skip(config.max_per_language).for_each(|member| over[*member] = true);
        }
        let (kept, account) = gate("balance", pairs, |index, pair| {
            let language = if pair.language.is_empty() { "no language" } else { &pair.language };
            over[index].then(|| format!("over {} of {language}", config.max_per_language))
        });
        pairs = kept;
        gates.push(account);
    }
    if config.min_per_language > 0 {
        let before = pairs.len();
        let mut repeats = Vec::new();
        for members in by_language(&pairs, seed).values() {
            for extra in 0..config.min_per_language.saturating_sub(members.len()) {
                let mut repeat = pairs[members[extra % members.len()]].clone();
                repeat.id = format!("{}~{}", repeat.id, extra / members.len() + 2);
                repeats.push(repeat);
            }
        }
        pairs.extend(repeats);
        let (before, after) = (before as u64, pairs.len() as u64);
        gates.push(Gate { name: "balance by repeats".into(), before, after, ..Gate::default() });
    }
    (pairs, gates)
}

/// Positions of each language's pairs in the order of their draws.
fn by_language(pairs: &[Pair], seed: Seed) -> BTreeMap<&str, Vec<usize>> {
    let mut languages: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, pair) in pairs.iter().enumerate() {
        languages.entry(&pair.language).or_default().push(index);
    }
    for members in languages.values_mut() {
        members.sort_by_cached_key(|member| (draw(seed, "balance", &pairs[*member].id), *member));
    }
    languages
}

/// A number that depends on the seed, the purpose and the name, and on nothing else.
pub(crate) fn draw(seed: Seed, purpose: &str, name: &str) -> u64 {
    seed.number_at(&format!("{purpose}/{name}"), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> Vec<Pair> {
        let pair = |at: usize| {
            let language = if at.is_multiple_of(4) { "ruby" } else { "rust" };
            Pair { id: format!("p{at}"), language: language.into(), ..Pair::default() }
        };
        (0..20).map(pair).collect()
    }

    fn count(pairs: &[Pair], language: &str) -> usize {
        pairs.iter().filter(|pair| pair.language == language).count()
    }

    #[test]
    fn languages_are_limited_and_filled() {
        let config = BalanceConfig { max_per_language: 8, min_per_language: 7 };
        let (kept, gates) = balance(pairs(), &config, Seed(1));
        assert_eq!((count(&kept, "rust"), count(&kept, "ruby")), (8, 7));
        assert_eq!(gates[0].dropped.get("over 8 of rust"), Some(&7));
        assert_eq!((gates[1].before, gates[1].after), (13, 15));
        let mut ids: Vec<&str> = kept.iter().map(|pair| pair.id.as_str()).collect();
        assert!(ids.ends_with(&[ids[13], ids[14]]) && ids[13].ends_with("~2"));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 15);
    }

    #[test]
    fn the_seed_decides_and_nothing_else() {
        let config = BalanceConfig { max_per_language: 3, min_per_language: 0 };
        let ids =
            |pairs, seed| balance(pairs, &config, Seed(seed)).0.into_iter().map(|pair| pair.id).collect::<Vec<_>>();
        assert_eq!(ids(pairs(), 1), ids(pairs(), 1));
        assert_ne!(ids(pairs(), 1), ids(pairs(), 2));
        let mut reversed = ids(pairs().into_iter().rev().collect(), 1);
        reversed.reverse();
        assert_eq!(reversed, ids(pairs(), 1));
    }

    #[test]
    fn impossible_numbers_are_refused() {
        assert!(BalanceConfig { max_per_language: 3, min_per_language: 4 }.validate("b").is_err());
        assert!(BalanceConfig::default().validate("b").is_ok());
    }
}
