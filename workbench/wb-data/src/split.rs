//! Train, validation and test: whole groups on one side, drawn by a hash of the group's name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{
    Pair, Seed,
    records::data::{DroppedPair, Gate},
};

use crate::{Error, Result, balance::draw, gate::Account, judge::is_meant, text::shorten};

/// Split of pairs into training, validation and test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SplitConfig {
    /// Unit that stays together: `group` (a crate, a repository; a pair without one is a group by itself) or `pair`.
    pub by: SplitBy,
    /// Groups that are one. `prefix`: names that agree before the first `-` or `_` (`serde`, `serde_json`), or owners
    /// that agree where names have a `/`. `off`: every group by itself.
    pub family: Family,
    /// Share of groups for choosing checkpoints; `0` for none.
    pub validation: f64,
    /// Share of groups for measuring; `0` for none.
    pub test: f64,
    /// The most validation pairs, the others dropped; `0` for no limit.
    pub max_validation: usize,
    /// The most test pairs, the others dropped; `0` for no limit.
    pub max_test: usize,
    /// Only pairs of these data sets are held out; empty for all. The others are for training.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<String>,
}

impl Default for SplitConfig {
    fn default() -> Self {
        Self {
            by: SplitBy::default(),
            family: Family::default(),
            validation: 0.02,
            test: 0.05,
            max_validation: 0,
            max_test: 0,
            datasets: Vec::new(),
        }
    }
}

/// Unit that stays together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SplitBy {
    /// A crate, a repository.
    #[default]
    Group,
    /// Nothing: every pair by itself.
    Pair,
}

/// Groups that are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Groups whose names agree before the first `-` or `_` (`serde`, `serde-json`, `serde_derive`), or, where names
    /// have a `/`, whose owners agree: packages of one repository copy from one another.
    #[default]
    Prefix,
    /// Every group by itself.
    Off,
}

/// A side of the split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitSide {
    /// Pairs to learn from.
    Train,
    /// Pairs to choose checkpoints by.
    Validation,
    /// Pairs to measure on.
    Test,
}

/// Pairs apart, each part in the order of the input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Split {
    /// Pairs to learn from.
    pub train: Vec<Pair>,
    /// Pairs to choose checkpoints by.
    pub validation: Vec<Pair>,
    /// Pairs to measure on.
    pub test: Vec<Pair>,
}

impl SplitConfig {
    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        for (name, share) in [("validation", self.validation), ("test", self.test)] {
            if !(0.0..1.0).contains(&share) {
                let message = format!("got {share}, expected a share from 0 to less than 1");
                return Err(Error::value(format!("{key}.{name}"), message));
            }
        }
        if self.validation + self.test >= 1.0 {
            let message = format!(
                "got {} + {}, expected less than 1, or nothing is left to train on",
                self.validation, self.test
            );
            return Err(Error::value(format!("{key}.test"), message));
        }
        Ok(())
    }

    /// The side that a pair's key draws, by the seed and the key alone.
    pub(crate) fn side(&self, pair: &Pair, seed: Seed) -> SplitSide {
        if self.holds_out(pair) { self.drawn(&self.key(pair), seed).0 } else { SplitSide::Train }
    }

    /// The error where nothing can be held out, as no pair is of the data sets that are; none where all are, or nothing is.
    pub(crate) fn nothing_to_hold_out(&self) -> Option<Error> {
        let names: Vec<String> = self.datasets.iter().map(|name| format!("`{name}`")).collect();
        (!names.is_empty() && self.test + self.validation > 0.0).then(|| {
            let what = format!("no pair is of {}, and `data.split.datasets` holds out no others", names.join(" or "));
            Error::failed(what)
                .with_hint("a source without documented functions gives no pairs; `wb data FILE` lists what each gave")
        })
    }

    /// True for pairs that may be held out. Nothing can be measured on a text without a label: it is for training.
    pub(crate) fn holds_out(&self, pair: &Pair) -> bool {
        !pair.is_text() && is_meant(&self.datasets, pair)
    }

    fn drawn(&self, key: &str, seed: Seed) -> (SplitSide, u64) {
        let drawn = draw(seed, "split", key);
        // The top 53 bits are a uniform number in [0, 1).
        let uniform = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
        let part = match uniform {
            u if u < self.test => SplitSide::Test,
            u if u < self.test + self.validation => SplitSide::Validation,
            _ => SplitSide::Train,
        };
        (part, drawn)
    }

    /// The name of all that must stand on one side with a pair.
    pub fn key(&self, pair: &Pair) -> String {
        let group = pair.origin.group.as_str();
        match (self.by, self.family) {
            (SplitBy::Group, Family::Prefix) if !group.is_empty() => format!("group {}", family(group)),
            (SplitBy::Group, Family::Off) if !group.is_empty() => format!("group {group}"),
            _ => format!("pair {}", pair.id),
        }
    }
}

/// The name of a group's family: see [`Family::Prefix`].
pub fn family(group: &str) -> &str {
    if let Some((owner, _)) = group.split_once('/') {
        return owner;
    }
    match group.find(['-', '_']) {
        Some(end) if end > 0 => &group[..end],
        _ => group,
    }
}

/// Splits pairs and accounts for those over a limit.
///
/// A key's side depends on the seed and the key alone: adding or removing groups moves no other group. The one
/// exception is a side that would be empty although a share was asked for; it takes the training group with the lowest
/// draw. A side that stays empty even so is an error, unless there are only pairs and texts that are not held out.
pub fn split(pairs: Vec<Pair>, config: &SplitConfig, seed: Seed) -> Result<(Split, Option<Gate>)> {
    let keys: Vec<Option<String>> = pairs.iter().map(|pair| config.holds_out(pair).then(|| config.key(pair))).collect();
    if keys.iter().all(Option::is_none)
        && let Some(error) = config.nothing_to_hold_out()
    {
        return Err(error);
    }
    let has_others = keys.contains(&None);
    let n_held_out = keys.iter().flatten().count();
    let mut parts: BTreeMap<&str, (SplitSide, u64)> = BTreeMap::new();
    for key in keys.iter().flatten() {
        parts.entry(key).or_insert_with(|| config.drawn(key, seed));
    }
    for (part, share) in [(SplitSide::Test, config.test), (SplitSide::Validation, config.validation)] {
        if share > 0.0 && !parts.values().any(|(other, _)| *other == part) {
            let lowest =
                parts.values_mut().filter(|(part, _)| *part == SplitSide::Train).min_by_key(|(_, drawn)| *drawn);
            if let Some(lowest) = lowest {
                lowest.0 = part;
            }
        }
    }
    let sizes = |part| parts.values().filter(|(other, _)| *other == part).count();
    for (part, share) in
        [(SplitSide::Train, 1.0), (SplitSide::Validation, config.validation), (SplitSide::Test, config.test)]
    {
        let may_be_empty = has_others && (parts.is_empty() || part == SplitSide::Train);
        if share > 0.0 && sizes(part) == 0 && !may_be_empty {
            return Err(Error::failed(
                format!("no group is left for {part:?}: {} groups for {n_held_out} pairs", parts.len()).to_lowercase(),
            )
            .with_hint(if config.datasets.is_empty() {
                "`split: { by: pair }` splits inside groups; `family: off` keeps `a-b` and `a-c` apart"
            } else {
                "the data sets of `data.split.datasets` have too few files to hold some out: name others, or none for all"
            }));
        }
    }
    let sides: Vec<SplitSide> = keys.iter().map(|key| side_of(key.as_deref().and_then(|key| parts.get(key)))).collect();
    let mut held_out = HeldOutSides::new(config, seed);
    let train = pairs.into_iter().zip(sides).filter_map(|(pair, side)| held_out.take(side, pair)).collect();
    let (validation, test, account) = held_out.finish();
    Ok((Split { train, validation, test }, account))
}

fn side_of(drawn: Option<&(SplitSide, u64)>) -> SplitSide {
    drawn.map_or(SplitSide::Train, |(side, _)| *side)
}

/// Both held-out sides of a split as their pairs come in.
pub(crate) struct HeldOutSides {
    validation: HeldOut,
    test: HeldOut,
    count: usize,
}

impl HeldOutSides {
    pub(crate) fn new(config: &SplitConfig, seed: Seed) -> Self {
        Self {
            validation: HeldOut::new("max_validation", config.max_validation, seed),
            test: HeldOut::new("max_test", config.max_test, seed),
            count: 0,
        }
    }

    /// Keeps the next pair where its side is held out; a training pair comes back.
    pub(crate) fn take(&mut self, side: SplitSide, pair: Pair) -> Option<Pair> {
        let at = self.count;
        self.count += 1;
        match side {
            SplitSide::Train => return Some(pair),
            SplitSide::Validation => self.validation.take(at, pair),
            SplitSide::Test => self.test.take(at, pair),
        }
        None
    }

    /// True where no pair has come, be it held out or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The pairs for validation and for test in order, and the account where some were over a limit.
    pub(crate) fn finish(self) -> (Vec<Pair>, Vec<Pair>, Option<Gate>) {
        let mut account = Account::default();
        let (validation, test) = (self.validation.finish(&mut account), self.test.finish(&mut account));
        account.set_before(self.count as u64);
        (validation, test, (!account.is_clean()).then(|| account.finish("split")))
    }
}

/// A held-out side as it comes in: at most so many pairs, those with the lowest draws.
struct HeldOut {
    name: &'static str,
    limit: usize,
    seed: Seed,
    /// Pairs by draw, or by position where there is no limit.
    pairs: BTreeMap<(u64, usize), Pair>,
    over: u64,
    /// The first of those over the limit, by position.
    first_over: Vec<(usize, DroppedPair)>,
}

/// Number of dropped pairs that are held before all but the first are forgotten.
const HELD: usize = 1000;

impl HeldOut {
    /// `name` is the limit's; 0 for no limit.
    fn new(name: &'static str, limit: usize, seed: Seed) -> Self {
        Self { name, limit, seed, pairs: BTreeMap::new(), over: 0, first_over: Vec::new() }
    }

    /// The next pair; positions ascend.
    fn take(&mut self, at: usize, pair: Pair) {
        let drawn = if self.limit > 0 { draw(self.seed, self.name, &pair.id) } else { 0 };
        self.pairs.insert((drawn, at), pair);
        if self.limit > 0
            && self.pairs.len() > self.limit
            && let Some(((_, at), pair)) = self.pairs.pop_last()
        {
            self.over += 1;
            let anchor = shorten(&pair.anchor, 120);
            self.first_over.push((at, DroppedPair { reason: self.reason(), id: pair.id, anchor }));
            if self.first_over.len() > HELD {
                self.forget();
            }
        }
    }

    fn reason(&self) -> String {
        format!("over {} = {}", self.name, self.limit)
    }

    fn forget(&mut self) {
        self.first_over.sort_by_key(|(at, _)| *at);
        self.first_over.truncate(16);
    }

    /// The pairs in order; those over the limit go to the account.
    fn finish(mut self, account: &mut Account) -> Vec<Pair> {
        self.forget();
        if self.over > 0 {
            let first = self.first_over.iter().map(|(_, dropped)| dropped.clone()).collect();
            account.drop_counted(&self.reason(), self.over, first);
        }
        let mut pairs: Vec<(usize, Pair)> = self.pairs.into_iter().map(|((_, at), pair)| (at, pair)).collect();
        pairs.sort_by_key(|(at, _)| *at);
        pairs.into_iter().map(|(_, pair)| pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families() {
        for (group, expected) in [
            ("serde", "serde"),
            ("serde_json", "serde"),
            ("windows-sys", "windows"),
            ("windows_x86_64_msvc", "windows"),
            ("travis-ci/travis.rb", "travis-ci"),
            ("_hidden", "_hidden"),
            ("-", "-"),
        ] {
            assert_eq!(family(group), expected, "{group}");
        }
    }

    #[test]
    fn impossible_shares_are_refused() {
        let check = |validation, test| SplitConfig { validation, test, ..SplitConfig::default() }.validate("s").is_ok();
        assert!(check(0.0, 0.0) && check(0.02, 0.05));
        assert!(!check(0.5, 0.5) && !check(-0.1, 0.1) && !check(0.1, 1.0) && !check(f64::NAN, 0.1));
    }
}
