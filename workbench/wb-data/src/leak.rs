//! Overlaps of training pairs and held-out pairs: counted, and taken out of the training pairs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{
    Pair,
    records::data::{Gate, Leak},
};

use crate::{
    gate::Account,
    minhash::{Bands, check_threshold, sketches},
    split::SplitConfig,
    text::folded_hash,
};

/// Leaks to look for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LeakConfig {
    /// Positives whose sets of five-token shingles have at least this Jaccard similarity leak; `0` for off, else 0.3 to
    /// 1.
    pub near: f64,
    /// An anchor of at least so many words leaks where another text holds all of it; `0` for off, else at least 4.
    pub contained_words: usize,
    /// Drops training pairs that leak. Shared groups are only counted.
    pub drop_leaks: bool,
}

impl Default for LeakConfig {
    fn default() -> Self {
        Self { near: 0.85, contained_words: 8, drop_leaks: true }
    }
}

impl LeakConfig {
    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        check_threshold(self.near, &format!("{key}.near"))?;
        if (1..4).contains(&self.contained_words) {
            let message =
                format!("got {}, expected 0 (off) or at least 4, or common phrases are leaks", self.contained_words);
            return Err(wb_core::Error::value(format!("{key}.contained_words"), message));
        }
        Ok(())
    }
}

/// A kind of overlap, worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlap {
    /// Both are of one group, or of groups of one family.
    Group,
    /// The anchors are equal, white space folded.
    ExactAnchor,
    /// The positives are equal, white space folded.
    ExactPositive,
    /// The positives are similar and not equal.
    NearPositive,
    /// The held-out anchor stands in a training anchor or positive, or a training anchor in the held-out anchor.
    AnchorContained,
}

impl Overlap {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::Group, Self::ExactAnchor, Self::ExactPositive, Self::NearPositive, Self::AnchorContained];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::ExactAnchor => "exact anchor",
            Self::ExactPositive => "exact positive",
            Self::NearPositive => "near positive",
            Self::AnchorContained => "anchor contained",
        }
    }
}

/// A held-out pair and a training pair that overlap, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// The kind of the overlap.
    pub kind: Overlap,
    /// The held-out pair.
    pub test: usize,
    /// The training pair.
    pub train: usize,
}

/// Every overlap of two sets, sorted. Of a shared group only one training pair is named for each held-out pair.
pub fn audit(train: &[Pair], test: &[Pair], config: &LeakConfig, split: &SplitConfig) -> Vec<Match> {
    let mut matches = Vec::new();
    let groups: HashMap<String, usize> =
        train.iter().enumerate().rev().map(|(at, pair)| (split.key(pair), at)).collect();
    for (at, pair) in test.iter().enumerate() {
        if let Some(train) = groups.get(&split.key(pair)) {
            matches.push(Match { kind: Overlap::Group, test: at, train: *train });
        }
    }
    equal(train, test, |pair| &pair.anchor, Overlap::ExactAnchor, &mut matches);
    equal(train, test, Pair::document, Overlap::ExactPositive, &mut matches);
    if config.near > 0.0 {
        near(train, test, config.near, &mut matches);
    }
    if config.contained_words > 0 {
        contained(train, test, config.contained_words, &mut matches);
    }
    matches.sort_unstable();
    matches.dedup();
    matches
}

/// The last gate of the split: training pairs that leak go, and what the test pairs share with the others is counted.
/// Training pairs come in chunks of any size; audits see one chunk at a time.
pub struct LeakGate<'a> {
    config: &'a LeakConfig,
    split: &'a SplitConfig,
    validation: &'a [Pair],
    test: &'a [Pair],
    /// Overlaps of the test pairs, by positions in all training pairs.
    matches: Vec<Match>,
    /// Test pairs that have a training pair of their group already.
    grouped: HashSet<usize>,
    /// Ids of the training pairs that stay and are in an overlap.
    ids: HashMap<usize, String>,
    account: Account,
    count: usize,
}

impl<'a> LeakGate<'a> {
    /// A gate against two held-out sides.
    pub fn new(config: &'a LeakConfig, split: &'a SplitConfig, validation: &'a [Pair], test: &'a [Pair]) -> Self {
        let (matches, grouped, ids) = (Vec::new(), HashSet::new(), HashMap::new());
        Self { config, split, validation, test, matches, grouped, ids, account: Account::default(), count: 0 }
    }

    /// Gives the training pairs that stay, in order.
    pub fn pass(&mut self, train: Vec<Pair>) -> Vec<Pair> {
        let of_test = audit(&train, self.test, self.config, self.split);
        let mut removed = BTreeMap::new();
        if self.config.drop_leaks {
            let of_validation = audit(&train, self.validation, self.config, self.split);
            removed = leaking(&[("test", &of_test), ("validation", &of_validation)]);
        }
        for found in of_test {
            // What is counted is what the test pairs share with the training pairs that stay.
            let is_first = found.kind != Overlap::Group || self.grouped.insert(found.test);
            if is_first && !removed.contains_key(&found.train) {
                let at = self.count + found.train;
                self.ids.entry(at).or_insert_with(|| train[found.train].id.clone());
                self.matches.push(Match { train: at, ..found });
            }
        }
        self.count += train.len();
        let mut kept = Vec::with_capacity(train.len() - removed.len());
        for (at, pair) in train.into_iter().enumerate() {
            match removed.get(&at) {
                Some(reason) => self.account.drop_pair(reason, &pair),
                None => {
                    self.account.keep();
                    kept.push(pair);
                }
            }
        }
        kept
    }

    /// The counts of every kind with examples, and, where leaks are dropped, the account of the dropped pairs.
    pub fn finish(mut self) -> (Vec<Leak>, Option<Gate>) {
        self.matches.sort_unstable();
        let leaks = Overlap::ALL.into_iter().map(|kind| self.leak(kind)).collect();
        (leaks, self.config.drop_leaks.then(|| self.account.finish("leaks")))
    }

    fn leak(&self, kind: Overlap) -> Leak {
        let mut seen = BTreeSet::new();
        let mut examples = Vec::new();
        for found in self.matches.iter().filter(|found| found.kind == kind) {
            if seen.insert(found.test) && examples.len() < 5 {
                let train = self.ids.get(&found.train).map_or("", String::as_str);
                examples.push(format!("{} = {train}", self.test[found.test].id));
            }
        }
        Leak { kind: kind.name().to_owned(), count: seen.len() as u64, of: self.test.len() as u64, examples }
    }
}

/// Training pairs that leak, with the reason: all kinds but a shared group, which is the split's choice. Each audit is
/// that against a held-out part, with the part's name.
fn leaking(audits: &[(&str, &[Match])]) -> BTreeMap<usize, String> {
    let mut reasons = BTreeMap::new();
    for (part, matches) in audits {
        for found in matches.iter().filter(|found| found.kind != Overlap::Group) {
            reasons.entry(found.train).or_insert_with(|| format!("{part}: {}", found.kind.name()));
        }
    }
    reasons
}

fn equal(train: &[Pair], test: &[Pair], text: impl Fn(&Pair) -> &str, kind: Overlap, matches: &mut Vec<Match>) {
    let mut places: HashMap<u128, Vec<usize>> = HashMap::new();
    for (at, pair) in test.iter().enumerate() {
        places.entry(folded_hash(text(pair))).or_default().push(at);
    }
    for (train, pair) in train.iter().enumerate() {
        for test in places.get(&folded_hash(text(pair))).into_iter().flatten() {
            matches.push(Match { kind, test: *test, train });
        }
    }
}

fn near(train: &[Pair], test: &[Pair], threshold: f64, matches: &mut Vec<Match>) {
    let positives = |pairs: &[Pair]| {
        let texts: Vec<&str> = pairs.iter().map(Pair::document).collect();
        sketches(&texts)
    };
    let (train_sketches, test_sketches) = (positives(train), positives(test));
    let bands = Bands::for_threshold(threshold);
    let mut buckets: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, sketch) in test_sketches.iter().enumerate() {
        bands.keys(sketch).into_iter().for_each(|key| buckets.entry(key).or_default().push(at));
    }
    let exact: HashSet<(usize, usize)> = matches
        .iter()
        .filter(|found| found.kind == Overlap::ExactPositive)
        .map(|found| (found.test, found.train))
        .collect();
    let found = train_sketches.par_iter().enumerate().flat_map_iter(|(train, sketch)| {
        let candidates: BTreeSet<usize> =
            bands.keys(sketch).iter().filter_map(|key| buckets.get(key)).flatten().copied().collect();
        let near =
            candidates.into_iter().filter(|test| test_sketches[*test].near(sketch, threshold)).collect::<Vec<_>>();
        near.into_iter().map(move |test| Match { kind: Overlap::NearPositive, test, train })
    });
    matches.par_extend(found.filter(|found| !exact.contains(&(found.test, found.train))));
}

fn contained(train: &[Pair], test: &[Pair], words: usize, matches: &mut Vec<Match>) {
    let anchors = |pairs: &[Pair]| pairs.par_iter().map(|pair| word_hashes(&pair.anchor)).collect::<Vec<_>>();
    let (train_anchors, test_anchors) = (anchors(train), anchors(test));
    let kind = Overlap::AnchorContained;
    let needles = Needles::new(&test_anchors, words);
    let found = train.par_iter().enumerate().flat_map_iter(|(train, pair)| {
        let mut found = needles.inside(&train_anchors[train], true);
        found.extend(needles.inside(&word_hashes(&pair.positive), false));
        found.into_iter().map(move |test| Match { kind, test, train })
    });
    matches.par_extend(found);
    let needles = Needles::new(&train_anchors, words);
    let found = test_anchors.par_iter().enumerate().flat_map_iter(|(test, anchor)| {
        needles.inside(anchor, true).into_iter().map(move |train| Match { kind, test, train })
    });
    matches.par_extend(found);
}

/// Texts to be found inside others, by the hash of their first words.
struct Needles<'a> {
    texts: &'a [Vec<u64>],
    words: usize,
    starts: HashMap<&'a [u64], Vec<usize>>,
}

impl<'a> Needles<'a> {
    fn new(texts: &'a [Vec<u64>], words: usize) -> Self {
        let mut starts: HashMap<&[u64], Vec<usize>> = HashMap::new();
        for (at, text) in texts.iter().enumerate() {
            if let Some(start) = text.get(..words) {
                starts.entry(start).or_default().push(at);
            }
        }
        Self { texts, words, starts }
    }

    /// Needles that stand in a text; `longer` leaves out those that are the whole text.
    fn inside(&self, text: &[u64], longer: bool) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (at, window) in text.windows(self.words).enumerate() {
            for needle in self.starts.get(window).into_iter().flatten() {
                let words = &self.texts[*needle];
                if text[at..].starts_with(words) && !(longer && words.len() == text.len()) {
                    found.insert(*needle);
                }
            }
        }
        found
    }
}

/// Hashes of the words, in lower case.
fn word_hashes(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| {
            let fold = |hash: u64, c: char| (hash ^ u64::from(u32::from(c))).wrapping_mul(0x100_0000_01b3);
            word.chars().flat_map(char::to_lowercase).fold(0xcbf2_9ce4_8422_2325, fold)
        })
        .collect()
}
