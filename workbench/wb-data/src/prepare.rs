//! From pairs as they were read to train, validation and test, every dropped pair accounted for.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};
use wb_core::{
    Pair, PairSet, Progress, Seed,
    records::data::{DataCard, Gate, SourceCount, SplitCount},
};

use crate::{
    Error, Result, SourceRead,
    balance::{BalanceConfig, balance},
    dedupe::{DedupeConfig, dedupe},
    filter::{FilterConfig, filter},
    leak::{LeakConfig, audit, drop_leaks, leaking, leaks},
    split::{SplitConfig, split},
};

/// The gates in the order in which pairs pass them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PrepareConfig {
    /// Quality.
    pub filter: FilterConfig,
    /// Duplicates.
    pub dedupe: DedupeConfig,
    /// Train, validation, test.
    pub split: SplitConfig,
    /// What training shares with the others.
    pub leaks: LeakConfig,
    /// Pairs a language, in training.
    pub balance: BalanceConfig,
}

impl PrepareConfig {
    /// Refuses values that make no sense; `key` is the config path of the data section.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.filter.validate(&format!("{key}.filter"))?;
        self.dedupe.validate(&format!("{key}.dedupe"))?;
        self.split.validate(&format!("{key}.split"))?;
        self.leaks.validate(&format!("{key}.leaks"))?;
        self.balance.validate(&format!("{key}.balance"))
    }
}

/// Pairs ready for training and measuring.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// To learn from.
    pub train: PairSet,
    /// To choose checkpoints by.
    pub validation: PairSet,
    /// To measure on.
    pub test: PairSet,
    /// What was read, dropped, split and shared.
    pub card: DataCard,
}

/// Filters, deduplicates, splits, audits and balances. The same input, config and seed give the same pairs in the same
/// order, for any number of threads.
///
/// Pairs keep the order of the sources. Where two sources give the same id, the later one gets `#2` (its source's
/// position) after it. Balancing comes last and touches training only, so that repeats are never measured on.
pub fn prepare(
    read: Vec<SourceRead>,
    config: &PrepareConfig,
    seed: Seed,
    progress: &mut dyn FnMut(Progress),
) -> Result<Prepared> {
    config.validate("data")?;
    let mut card = DataCard { sources: read.iter().map(count_source).collect(), ..DataCard::default() };
    let pairs = merge(read);
    if pairs.is_empty() {
        let names: Vec<&str> = card.sources.iter().map(|source| source.name.as_str()).collect();
        let what = format!(
            "the sources gave no pairs: {}",
            if names.is_empty() { "there are none".into() } else { names.join(", ") }
        );
        return Err(Error::Empty { what, hint: Some("look at `path` and `fields` of the sources".into()) });
    }
    let mut stage = |done, note: &str| progress(Progress::new("preparing pairs", done, 4).note(note));
    stage(0, "filter");
    let (pairs, account) = filter(pairs, &config.filter);
    card.gates.push(account);
    stage(1, "duplicates");
    let (pairs, accounts) = dedupe(pairs, &config.dedupe);
    card.gates.extend(accounts);
    if pairs.is_empty() {
        return Err(nothing_left(&card.gates));
    }
    stage(2, "split");
    let (parts, account) = split(pairs, &config.split, seed)?;
    card.gates.extend(account);
    stage(3, "leaks");
    let (mut train, validation, test) = (parts.train, parts.validation, parts.test);
    let of_test = audit(&train, &test, &config.leaks, &config.split);
    let mut removed = BTreeMap::new();
    if config.leaks.drop_leaks {
        let of_validation = audit(&train, &validation, &config.leaks, &config.split);
        removed = leaking(&[("test", &of_test), ("validation", &of_validation)]);
    }
    // What is counted is what the test pairs share with the training pairs that stay.
    card.leaks = leaks(&of_test, &train, &test, &removed);
    if config.leaks.drop_leaks {
        let (kept, account) = drop_leaks(train, &removed);
        card.gates.push(account);
        train = kept;
    }
    if !config.balance.is_off() {
        let (balanced, accounts) = balance(train, &config.balance, seed);
        card.gates.extend(accounts);
        train = balanced;
    }
    if train.is_empty() {
        return Err(nothing_left(&card.gates));
    }
    for (name, pairs) in [("train", &train), ("validation", &validation), ("test", &test)] {
        card.splits.insert(name.to_owned(), count_split(pairs));
        for pair in pairs {
            let license = if pair.origin.license.is_empty() { "unknown" } else { &pair.origin.license };
            *card.licenses.entry(license.to_owned()).or_default() += 1;
        }
    }
    stage(4, "");
    Ok(Prepared { train: PairSet::new(train)?, validation: PairSet::new(validation)?, test: PairSet::new(test)?, card })
}

/// All pairs in source order with unique ids: an id that stands in an earlier source gets its own source's number.
pub fn merge(read: Vec<SourceRead>) -> Vec<Pair> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut pairs = Vec::with_capacity(read.iter().map(|source| source.pairs.len()).sum());
    for (position, source) in read.into_iter().enumerate() {
        for mut pair in source.pairs {
            while !seen.insert(pair.id.clone()) {
                pair.id = format!("{}#{}", pair.id, position + 1);
            }
            pairs.push(pair);
        }
    }
    pairs
}

fn count_source(source: &SourceRead) -> SourceCount {
    SourceCount { name: source.name.clone(), pairs: source.pairs.len() as u64, skipped: source.skipped.clone() }
}

fn count_split(pairs: &[Pair]) -> SplitCount {
    let groups: BTreeSet<&str> = pairs
        .iter()
        .map(|pair| if pair.origin.group.is_empty() { pair.id.as_str() } else { pair.origin.group.as_str() })
        .collect();
    let mut languages: BTreeMap<String, u64> = BTreeMap::new();
    for pair in pairs {
        let language = if pair.language.is_empty() { "unknown" } else { &pair.language };
        *languages.entry(language.to_owned()).or_default() += 1;
    }
    SplitCount { pairs: pairs.len() as u64, groups: groups.len() as u64, languages }
}

fn nothing_left(gates: &[Gate]) -> Error {
    let story: Vec<String> = gates
        .iter()
        .filter(|gate| gate.before != gate.after)
        .map(|gate| {
            let worst = gate.dropped.iter().max_by_key(|(_, count)| **count);
            let worst = worst.map_or(String::new(), |(reason, count)| format!(", most for `{reason}`: {count}"));
            format!("{} left {} of {}{worst}", gate.name, gate.after, gate.before)
        })
        .collect();
    Error::Empty {
        what: format!("no training pairs are left: {}", story.join("; ")),
        hint: Some("loosen the gate that took most, for example `filter: { min_positive_chars: 20 }`".into()),
    }
}
