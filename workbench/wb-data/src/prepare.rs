//! From pairs as they were read to train, validation and test, every dropped pair accounted for.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use wb_core::{
    EncoderRef, Pair, PairSet, Progress, Ranker, Seed,
    fingerprint::text_key,
    records::data::{DataCard, Gate, SourceCount, SplitCount},
};

use crate::{
    Error, Result, SourceRead,
    balance::{BalanceConfig, balance},
    clean::Cleaning,
    dedupe::{DedupeConfig, drop_near_duplicates},
    filter::FilterConfig,
    judge::{
        ConsistencyConfig, DifficultyConfig, FirstOfEach, Judge, JudgeError, SemanticConfig, consistency, difficulty,
        semantic, semantic_texts,
    },
    leak::{LeakConfig, LeakGate},
    split::{Split, SplitConfig, split},
};

/// The gates in the order in which pairs pass them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PrepareConfig {
    /// Quality.
    pub filter: FilterConfig,
    /// Duplicates.
    pub dedupe: DedupeConfig,
    /// Duplicates by meaning.
    pub semantic: Option<SemanticConfig>,
    /// Train, validation, test.
    pub split: SplitConfig,
    /// Overlaps of training with the others.
    pub leaks: LeakConfig,
    /// Training pairs whose two sides find each other.
    pub consistency: Option<ConsistencyConfig>,
    /// Training pairs that are neither solved already nor out of reach.
    pub difficulty: Option<DifficultyConfig>,
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
        self.semantic.as_ref().map_or(Ok(()), |config| config.validate(&format!("{key}.semantic")))?;
        self.consistency.as_ref().map_or(Ok(()), |config| config.validate(&format!("{key}.consistency")))?;
        self.difficulty.as_ref().map_or(Ok(()), |config| config.validate(&format!("{key}.difficulty")))?;
        self.balance.validate(&format!("{key}.balance"))
    }

    /// The encoders that its gates ask.
    pub fn encoders(&self) -> Vec<&EncoderRef> {
        let judges: [Option<&Ranker>; 2] =
            [self.consistency.as_ref().map(|config| &config.by), self.difficulty.as_ref().map(|config| &config.by)];
        let ranking = judges.into_iter().flatten().filter_map(Ranker::encoder);
        self.semantic.iter().map(|config| &config.encoder).chain(ranking).collect()
    }
}

/// Pairs ready for training and measuring.
#[derive(Debug, Clone)]
pub struct PreparedPairs {
    /// Pairs to learn from.
    pub train: PairSet,
    /// Pairs to choose checkpoints by.
    pub validation: PairSet,
    /// Pairs to measure on.
    pub test: PairSet,
    /// The account of what was read, dropped, split and shared.
    pub card: DataCard,
}

/// [`prepare_with`] for gates that need no judge; one that does is an error.
pub fn prepare(
    read: Vec<SourceRead>,
    config: &PrepareConfig,
    seed: Seed,
    progress: &mut dyn FnMut(Progress),
) -> Result<PreparedPairs> {
    prepare_with(read, config, seed, None, progress)
}

/// Filters, deduplicates, splits, audits and balances. The same input, config and seed give the same pairs in the same
/// order, for any number of threads.
///
/// Pairs keep the order of the sources. Where two sources give the same id, the later one gets `#2` (its source's
/// position) after it. Consistency, difficulty and balance come last and touch training only, so that what is measured
/// stays what it is.
pub fn prepare_with(
    read: Vec<SourceRead>,
    config: &PrepareConfig,
    seed: Seed,
    judge: Option<&mut dyn Judge>,
    progress: &mut dyn FnMut(Progress),
) -> Result<PreparedPairs> {
    config.validate("data")?;
    let mut judge = GivenJudge(judge);
    let mut card = DataCard { sources: read.iter().map(count_source).collect(), ..DataCard::default() };
    let pairs = merge(read);
    if pairs.is_empty() {
        return Err(no_pairs(&card.sources));
    }
    fn stage(progress: &mut dyn FnMut(Progress), done: usize, note: &str) {
        progress(Progress::new("preparing pairs", done, 4).note(note));
    }
    stage(progress, 0, "filter");
    let mut cleaning = Cleaning::new(&config.filter, &config.dedupe);
    let mut pairs = cleaning.pass(pairs);
    card.gates.extend(cleaning.finish());
    stage(progress, 1, "duplicates");
    if config.dedupe.near > 0.0 {
        pairs = counted(drop_near_duplicates(pairs, config.dedupe.near), &mut card);
    }
    if let Some(semantic) = &config.semantic {
        pairs = counted(judge.semantic(pairs, semantic, progress)?, &mut card);
    }
    if pairs.is_empty() {
        return Err(nothing_left(&card.gates));
    }
    stage(progress, 2, "split");
    let (Split { train, validation, test }, account) = split(pairs, &config.split, seed)?;
    card.gates.extend(account);
    stage(progress, 3, "leaks");
    let mut leaks = LeakGate::new(&config.leaks, &config.split, &validation, &test);
    let mut train = leaks.pass(train);
    let (leaks, account) = leaks.finish();
    card.leaks = leaks;
    card.gates.extend(account);
    if let Some(config) = &config.consistency {
        let ranks = judge.ranks(&config.by, &train, "data.consistency", progress)?;
        train = counted(consistency(train, &ranks, config), &mut card);
    }
    if let Some(config) = &config.difficulty {
        let ranks = judge.ranks(&config.by, &train, "data.difficulty", progress)?;
        train = counted(difficulty(train, &ranks, config), &mut card);
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
        SplitCounter::of(pairs).write(name, &mut card);
    }
    stage(progress, 4, "");
    Ok(PreparedPairs {
        train: PairSet::new(train)?,
        validation: PairSet::new(validation)?,
        test: PairSet::new(test)?,
        card,
    })
}

/// Puts a gate's account into the card, and gives the pairs that it keeps.
fn counted((kept, account): (Vec<Pair>, Gate), card: &mut DataCard) -> Vec<Pair> {
    card.gates.push(account);
    kept
}

/// A judge, who may be missing.
struct GivenJudge<'a>(Option<&'a mut dyn Judge>);

impl GivenJudge<'_> {
    fn judge(&mut self, key: &str) -> Result<&mut dyn Judge> {
        match &mut self.0 {
            Some(judge) => Ok(&mut **judge),
            None => {
                let message = "needs an encoder or an index, and there is nobody here to ask";
                Err(Error::value(key, message))
            }
        }
    }

    fn ranks(
        &mut self,
        by: &Ranker,
        pairs: &[Pair],
        key: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<usize>> {
        let texts = pairs.iter().filter(|pair| pair.is_text()).count();
        if texts > 0 {
            let message =
                format!("ranks the positive of every pair, and {texts} of {} are texts without a label", pairs.len());
            return Err(Error::value(key, message).with_hint("take it away, or the sources with `positive: null`"));
        }
        let ranks = self.judge(key)?.ranks(by, pairs, progress).map_err(|error| failed(key, error))?;
        if ranks.len() != pairs.len() {
            return Err(failed(key, format!("{} ranks for {} pairs", ranks.len(), pairs.len()).into()));
        }
        Ok(ranks)
    }

    fn semantic(
        &mut self,
        pairs: Vec<Pair>,
        config: &SemanticConfig,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Vec<Pair>, Gate)> {
        let mut first = FirstOfEach::default();
        let texts = semantic_texts(&pairs, config.text);
        let key = "data.semantic";
        self.judge(key)?
            .similar(&config.encoder, &texts, config.cosine, &mut |_, earlier| first.take(earlier), progress)
            .map_err(|error| failed(key, error))?;
        Ok(semantic(pairs, first.repeats(), config))
    }
}

fn failed(key: &str, error: JudgeError) -> Error {
    Error::data(key, "pairs could not be judged").with_cause(error)
}

/// All pairs in source order with unique ids: an id that stands in an earlier source gets its own source's number.
pub fn merge(read: Vec<SourceRead>) -> Vec<Pair> {
    let mut ids = UniqueIds::default();
    let mut merged = Vec::with_capacity(read.iter().map(|source| source.pairs.len()).sum());
    for (position, source) in read.into_iter().enumerate() {
        merged.extend(source.pairs.into_iter().map(|pair| ids.claim(pair, position)));
    }
    merged
}

/// The ids of all pairs so far, in 16 bytes each.
#[derive(Default)]
pub(crate) struct UniqueIds(HashSet<[u64; 2]>);

impl UniqueIds {
    /// Gives a pair whose id was taken before that of the source at a position.
    pub(crate) fn claim(&mut self, mut pair: Pair, position: usize) -> Pair {
        while !self.0.insert(text_key(&pair.id)) {
            pair.id = format!("{}#{}", pair.id, position + 1);
        }
        pair
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

pub(crate) fn count_source(source: &SourceRead) -> SourceCount {
    SourceCount { name: source.name.clone(), pairs: source.pairs.len() as u64, skipped: source.skipped.clone() }
}

/// Counts the pairs of one side of the split.
#[derive(Debug, Default)]
pub(crate) struct SplitCounter {
    groups: HashSet<[u64; 2]>,
    split: SplitCount,
    licenses: BTreeMap<String, u64>,
}

impl SplitCounter {
    pub(crate) fn of(pairs: &[Pair]) -> Self {
        let mut counter = Self::default();
        pairs.iter().for_each(|pair| counter.count(pair));
        counter
    }

    pub(crate) fn count(&mut self, pair: &Pair) {
        let or = |name: &str, other: &str| if name.is_empty() { other.to_owned() } else { name.to_owned() };
        self.groups.insert(text_key(if pair.origin.group.is_empty() { &pair.id } else { &pair.origin.group }));
        self.split.pairs += 1;
        self.split.texts += u64::from(pair.is_text());
        *self.split.languages.entry(or(&pair.language, "unknown")).or_default() += 1;
        *self.split.datasets.entry(pair.origin.dataset.clone()).or_default() += 1;
        *self.licenses.entry(or(&pair.origin.license, "unknown")).or_default() += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.split.pairs == 0
    }

    /// Puts the counts into a card.
    pub(crate) fn write(self, name: &str, card: &mut DataCard) {
        let groups = self.groups.len() as u64;
        card.splits.insert(name.to_owned(), SplitCount { groups, ..self.split });
        for (license, count) in self.licenses {
            *card.licenses.entry(license).or_default() += count;
        }
    }
}

pub(crate) fn no_pairs(sources: &[SourceCount]) -> Error {
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    let names = if names.is_empty() { "there are none".into() } else { names.join(", ") };
    Error::failed(format!("the sources gave no pairs: {names}")).with_hint("look at `path` and `fields` of the sources")
}

pub(crate) fn nothing_left(gates: &[Gate]) -> Error {
    let story: Vec<String> = gates
        .iter()
        .filter(|gate| gate.before != gate.after)
        .map(|gate| {
            let worst = gate.dropped.iter().max_by_key(|(_, count)| **count);
            let worst = worst.map_or(String::new(), |(reason, count)| format!(", most for `{reason}`: {count}"));
            format!("{} left {} of {}{worst}", gate.name, gate.after, gate.before)
        })
        .collect();
    Error::failed(format!("no training pairs are left: {}", story.join("; ")))
        .with_hint("loosen the gate that took most, for example `filter: { min_positive_chars: 20 }`")
}
