//! Turns of several data sets in an epoch: how much each gives, and in which order.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, Seed, suggest};

use crate::error::expect_value;

/// Share of each data set in an epoch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MixConfig {
    /// Everything once, in an order drawn anew for each epoch; sentence-transformers' `proportional`.
    #[default]
    Proportional,
    /// One of each data set in turn, as often as the smallest can; sentence-transformers' `round_robin`, but that the
    /// larger ones go on in the next epoch where they stopped, and do not start anew.
    RoundRobin,
    /// Shares in proportion to n^(1/T) for data sets of n pairs, as in `{ temperature: 2 }`: `1` is by size, `2` by the
    /// square roots, large numbers the same of each. This is the temperature of T5 (Raffel et al. 2020, "Exploring the
    /// Limits of Transfer Learning", 3.5.2); papers that write n^α have α = 1/T. An epoch is as long as with
    /// `proportional`: small data sets come again in it, large ones go on in the next.
    Temperature(f64),
    /// Shares in proportion to these weights, as in `{ weights: { csn: 3, conala: 1 } }`. Every data set at hand needs
    /// one; `0` leaves it out, and a weight whose data set has no pairs, as an optional source may leave it, is told. An
    /// epoch is as long as with `proportional`.
    Weights(BTreeMap<String, f64>),
}

/// A data set of a stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DatasetShare<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of its pairs.
    pub pairs: usize,
    /// Number of units (batches, or pairs) in which it is gone through once.
    pub units: usize,
}

impl MixConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        match self {
            Self::Temperature(t) => {
                let fine = t.is_finite() && *t > 0.0;
                expect_value(format!("{key}.temperature"), t, fine, "a number above 0")
                    .map_err(|error| error.with_hint("1 is by size; 2 takes the square roots of the sizes"))
            }
            Self::Weights(weights) => {
                for (name, weight) in weights {
                    let fine = weight.is_finite() && *weight >= 0.0;
                    expect_value(format!("{key}.weights.{name}"), weight, fine, "0 or more")?;
                }
                if weights.values().sum::<f64>() == 0.0 {
                    return Err(Error::value(format!("{key}.weights"), "nothing has a weight above 0"));
                }
                Ok(())
            }
            Self::Proportional | Self::RoundRobin => Ok(()),
        }
    }

    /// The weight of a data set; 0 for one that is left out. Every data set needs one where weights are given.
    pub fn weight(&self, name: &str, pairs: usize) -> Result<f64> {
        match self {
            Self::Proportional | Self::RoundRobin => Ok(1.0),
            Self::Temperature(t) => Ok((pairs as f64).powf(1.0 / t)),
            Self::Weights(weights) => weights.get(name).copied().ok_or_else(|| {
                Error::value("train.mix.weights", format!("the data set `{name}` has no weight"))
                    .with_hint("0 leaves a data set out; or name the data sets of each stage in train.curriculum")
            }),
        }
    }

    /// The data set that each unit of an epoch comes from, as positions in `shares`.
    pub fn turns(&self, shares: &[DatasetShare<'_>], seed: Seed, epoch: u64) -> Result<Vec<usize>> {
        let all: usize = shares.iter().map(|share| share.units).sum();
        let counts: Vec<usize> = match self {
            Self::Proportional => shares.iter().map(|share| share.units).collect(),
            Self::RoundRobin => {
                let least = shares.iter().map(|share| share.units).min().unwrap_or(0);
                return Ok((0..least).flat_map(|_| 0..shares.len()).collect());
            }
            Self::Temperature(_) | Self::Weights(_) => {
                let weight = |share: &DatasetShare<'_>| self.weight(share.name, share.pairs);
                apportion(all, &shares.iter().map(weight).collect::<Result<Vec<f64>>>()?)
            }
        };
        let turns: Vec<usize> = counts.iter().enumerate().flat_map(|(at, count)| vec![at; *count]).collect();
        if shares.len() < 2 {
            return Ok(turns);
        }
        Ok(seed.permutation_at("mix", epoch, turns.len()).into_iter().map(|at| turns[at]).collect())
    }

    /// A note for each data set that has a weight and no pairs, which optional sources may leave.
    pub fn absent(&self, present: &[String]) -> Vec<String> {
        let Self::Weights(weights) = self else { return Vec::new() };
        let absent = weights.iter().filter(|(name, weight)| **weight > 0.0 && !present.contains(name));
        absent.map(|(name, _)| format!("train.mix.weights.{name}: no training pair is of this data set")).collect()
    }

    /// Refuses names that no data set has.
    pub fn check_names(&self, known: &[String]) -> Result<()> {
        let Self::Weights(weights) = self else { return Ok(()) };
        weights.keys().try_for_each(|name| check_name(&format!("train.mix.weights.{name}"), name, known))
    }
}

/// Refuses a name that no data set has.
pub fn check_name(key: &str, name: &str, known: &[String]) -> Result<()> {
    if known.iter().any(|other| other == name) {
        return Ok(());
    }
    let quoted: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let message = format!("there is no data set `{name}` among the training pairs, there are {}", quoted.join(", "));
    let hint = suggest::hint(name, known.iter().map(String::as_str))
        .unwrap_or_else(|| "a source names its data set: `jsonl: { dataset: NAME, ... }`".into());
    Err(Error::value(key, message).with_hint(hint))
}

/// Shares of `total` in whole numbers, in proportion to weights: largest remainders, the first of equals.
/// A weight above 0 gets at least 1, for which the sum may grow by as much.
fn apportion(total: usize, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let exact: Vec<f64> = weights.iter().map(|weight| total as f64 * weight / sum).collect();
    let mut counts: Vec<usize> = exact.iter().map(|share| share.floor() as usize).collect();
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()).then(a.cmp(b)));
    let missing = total.saturating_sub(counts.iter().sum());
    by_remainder.iter().take(missing).for_each(|at| counts[*at] += 1);
    for (count, weight) in counts.iter_mut().zip(weights) {
        if *weight > 0.0 {
            *count = (*count).max(1);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: [DatasetShare<'_>; 3] = [
        DatasetShare { name: "a", pairs: 400, units: 100 },
        DatasetShare { name: "b", pairs: 100, units: 25 },
        DatasetShare { name: "c", pairs: 16, units: 4 },
    ];

    fn counts(mix: &MixConfig) -> Vec<usize> {
        let turns = mix.turns(&SHARES, Seed(1), 0).unwrap();
        (0..3).map(|set| turns.iter().filter(|turn| **turn == set).count()).collect()
    }

    #[test]
    fn counts_by_hand() {
        assert_eq!(counts(&MixConfig::Proportional), [100, 25, 4]);
        assert_eq!(counts(&MixConfig::RoundRobin), [4, 4, 4]);
        // Roots 20, 10, 4 of 34; 129·20/34 = 75.88, 37.94, 15.18.
        assert_eq!(counts(&MixConfig::Temperature(2.0)), [76, 38, 15]);
        assert_eq!(counts(&MixConfig::Temperature(1.0)), [100, 25, 4]);
        assert_eq!(counts(&MixConfig::Temperature(1e6)), [43, 43, 43]);
        let weights = |a: f64, b: f64, c: f64| {
            MixConfig::Weights([("a", a), ("b", b), ("c", c)].map(|(name, w)| (name.to_owned(), w)).into())
        };
        assert_eq!(counts(&weights(1.0, 1.0, 0.0)), [65, 64, 0]);
        // Too little for one of 129 is still one.
        assert_eq!(counts(&weights(1.0, 0.0, 1e-6)), [129, 0, 1]);
    }

    #[test]
    fn turns_are_drawn_by_seed_and_epoch_and_round_robin_is_in_turn() {
        let turns = |epoch| MixConfig::Proportional.turns(&SHARES, Seed(1), epoch).unwrap();
        assert_eq!(turns(0), turns(0));
        assert_ne!(turns(0), turns(1));
        assert_eq!(MixConfig::RoundRobin.turns(&SHARES, Seed(1), 3).unwrap()[..7], [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(MixConfig::Proportional.turns(&SHARES[..1], Seed(1), 3).unwrap(), vec![0; 100]);
    }

    #[test]
    fn impossible_values_and_unknown_names_are_refused() {
        let error = MixConfig::Temperature(0.0).validate("train.mix").unwrap_err();
        assert!(error.to_string().starts_with("train.mix.temperature: got 0"), "{error}");
        let weights = MixConfig::Weights([("conalla".to_owned(), 1.0)].into());
        weights.validate("train.mix").unwrap();
        let error = weights.check_names(&["conala".to_owned(), "csn".to_owned()]).unwrap_err();
        assert!(
            error.to_string().contains("no data set `conalla` among the training pairs, there are `conala`, `csn`")
        );
        assert!(error.hint().unwrap().contains("conala"), "{error}");
        let error = weights.turns(&SHARES, Seed(1), 0).unwrap_err();
        assert!(error.to_string().contains("the data set `a` has no weight"), "{error}");
        assert!(MixConfig::Weights([("a".to_owned(), 0.0)].into()).validate("train.mix").is_err());
        assert!(MixConfig::Weights([("a".to_owned(), -1.0)].into()).validate("train.mix").is_err());
    }
}
