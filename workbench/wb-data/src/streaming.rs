//! Pairs that need not fit into memory: read, cleaned and split one by one, training pairs straight to the disk.
//!
//! What stays in memory is 16 to 48 bytes a pair (hashes of ids, positives, anchors and groups) and the held-out pairs.
//! The result is that of [`crate::prepare()`], pair for pair and count for count, for the gates that can be passed so.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    path::Path,
};

use rayon::prelude::*;
use wb_core::{
    Pair, PairSet, Progress, Seed,
    fingerprint::text_key,
    publish::{self, Published},
    records::data::{DataCard, SourceCount},
};

use crate::{
    Error, Prepared, Result, SourceRead,
    dedupe::{Exact, SameAnchor},
    gate::Account,
    leak::{Kind, Match, audit, leaking, leaks},
    prepare::{PrepareConfig, SplitCounter, count_source, nothing_left},
    split::{HeldOut, Part},
    store::{PROOF, PairWriter, each_pair, load_held_out, write_rest},
    text::folded_hash,
};

/// Pairs and bytes that are looked at together.
const CHUNK: (usize, usize) = (32_768, 128 << 20);

/// Reads one source, pair by pair.
pub type ReadSource<'a> =
    Box<dyn FnOnce(&mut dyn FnMut(Pair) -> Result<()>, &mut dyn FnMut(Progress)) -> Result<SourceRead> + 'a>;

/// Refuses gates that need all pairs at once; `key` is the config path of the data section.
pub fn check(config: &PrepareConfig, key: &str) -> wb_core::Result<()> {
    let refuse = |field: &str, message: &str| {
        let message = format!("{message} with {key}.streaming: it needs all pairs in memory");
        Err(wb_core::Error::value(format!("{key}.{field}"), message))
    };
    if config.dedupe.near > 0.0 {
        return refuse("dedupe.near", &format!("got {}, expected 0", config.dedupe.near));
    }
    let sections = [
        ("semantic", config.semantic.is_some()),
        ("consistency", config.consistency.is_some()),
        ("difficulty", config.difficulty.is_some()),
        ("balance", !config.balance.is_off()),
    ];
    match sections.into_iter().find(|(_, is_on)| *is_on) {
        Some((section, _)) => refuse(section, "cannot be used"),
        None => Ok(()),
    }
}

/// [`crate::prepare()`] into a folder as [`crate::store::write()`] leaves it, and that another process may have put there
/// first. The training pairs are in it, and not in what is returned.
pub fn prepare_streaming(
    sources: Vec<ReadSource<'_>>,
    config: &PrepareConfig,
    seed: Seed,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Prepared> {
    config.validate("data")?;
    check(config, "data")?;
    let published = publish::folder(folder, PROOF, |inside| -> Result<Prepared> {
        let spill = inside.join("all.parquet");
        let mut gates = Gates::new(config, seed, &spill)?;
        let mut card = DataCard::default();
        for (position, read) in sources.into_iter().enumerate() {
            gates.position = position;
            let source = read(&mut |pair| gates.take(pair), progress)?;
            card.sources.push(SourceCount { pairs: std::mem::take(&mut gates.of_source), ..count_source(&source) });
        }
        let (validation, test) = gates.finish(&mut card)?;
        let mut held_out = Prepared { train: PairSet::default(), validation, test, card };
        write_train(&spill, &inside.join("train.parquet"), config, &mut held_out, progress)?;
        fs::remove_file(&spill).map_err(wb_core::Error::io("remove", &spill))?;
        write_rest(&held_out, inside)?;
        Ok(held_out)
    })?;
    match published {
        Published::Ours(held_out) => Ok(held_out),
        Published::Theirs => load_held_out(folder),
    }
}

/// Filter, duplicates and split, pair by pair.
struct Gates<'a> {
    config: &'a PrepareConfig,
    seed: Seed,
    position: usize,
    of_source: u64,
    ids: HashSet<[u64; 2]>,
    waiting: Vec<Pair>,
    bytes: usize,
    filter: Account,
    /// Whether a pair was dropped for it, by the key of the first.
    exact: HashMap<(u128, u128), bool>,
    exact_account: Account,
    anchors: HashMap<u128, bool>,
    anchor_account: Account,
    split: u64,
    held_out: [HeldOut; 2],
    train: PairWriter,
}

impl<'a> Gates<'a> {
    fn new(config: &'a PrepareConfig, seed: Seed, spill: &Path) -> Result<Self> {
        Ok(Self {
            config,
            seed,
            position: 0,
            of_source: 0,
            ids: HashSet::new(),
            waiting: Vec::new(),
            bytes: 0,
            filter: Account::default(),
            exact: HashMap::new(),
            exact_account: Account::default(),
            anchors: HashMap::new(),
            anchor_account: Account::default(),
            split: 0,
            held_out: [
                HeldOut::new("max_validation", config.split.max_validation, seed),
                HeldOut::new("max_test", config.split.max_test, seed),
            ],
            train: PairWriter::create(spill)?,
        })
    }

    fn take(&mut self, mut pair: Pair) -> Result<()> {
        self.of_source += 1;
        while !self.ids.insert(text_key(&pair.id)) {
            pair.id = format!("{}#{}", pair.id, self.position + 1);
        }
        self.bytes += pair.anchor.len() + pair.positive.len() + pair.negatives.iter().map(String::len).sum::<usize>();
        self.waiting.push(pair);
        if self.waiting.len() == CHUNK.0 || self.bytes > CHUNK.1 { self.pass() } else { Ok(()) }
    }

    /// Takes the waiting pairs through the gates. The costly part of it runs in parallel.
    fn pass(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let looked_at: Vec<(Option<&'static str>, u128, u128)> = waiting
            .par_iter()
            .map(|pair| match self.config.filter.reason(pair) {
                Some(reason) => (Some(reason), 0, 0),
                None => (None, folded_hash(&pair.anchor), folded_hash(&pair.positive)),
            })
            .collect();
        for (pair, (reason, anchor, positive)) in waiting.into_iter().zip(looked_at) {
            if let Some(reason) = reason {
                self.filter.drop_pair(reason, &pair);
                continue;
            }
            self.filter.keep();
            if self.is_duplicate(&pair, anchor, positive) {
                continue;
            }
            let at = self.split as usize;
            self.split += 1;
            match self.config.split.part(&pair, self.seed) {
                Part::Train => self.train.push(pair)?,
                Part::Validation => self.held_out[0].take(at, pair),
                Part::Test => self.held_out[1].take(at, pair),
            }
        }
        Ok(())
    }

    fn is_duplicate(&mut self, pair: &Pair, anchor: u128, positive: u128) -> bool {
        let dedupe = &self.config.dedupe;
        if dedupe.exact != Exact::Off {
            let key = if dedupe.exact == Exact::Pair { (anchor, positive) } else { (0, positive) };
            if repeats(&mut self.exact, key) {
                self.exact_account.drop_pair("", pair);
                return true;
            }
            self.exact_account.keep();
        }
        if dedupe.same_anchor == SameAnchor::KeepFirst {
            if repeats(&mut self.anchors, anchor) {
                self.anchor_account.drop_pair("", pair);
                return true;
            }
            self.anchor_account.keep();
        }
        false
    }

    /// The accounts in the order of the gates, and the held-out pairs.
    fn finish(mut self, card: &mut DataCard) -> Result<(PairSet, PairSet)> {
        self.pass()?;
        if self.ids.is_empty() {
            let names: Vec<&str> = card.sources.iter().map(|source| source.name.as_str()).collect();
            return Err(Error::Empty {
                what: format!("the sources gave no pairs: {}", names.join(", ")),
                hint: Some("look at `path` and `fields` of the sources".into()),
            });
        }
        card.gates.push(self.filter.finish("filter"));
        let clusters = |count: usize, reason: &str| format!("{reason} ({count} clusters)");
        let dedupe = &self.config.dedupe;
        if dedupe.exact != Exact::Off {
            let what = if dedupe.exact == Exact::Pair { "same pair" } else { "same positive" };
            let count = self.exact.values().filter(|repeated| **repeated).count();
            card.gates.push(self.exact_account.named(clusters(count, what)).finish("exact duplicates"));
        }
        if dedupe.same_anchor == SameAnchor::KeepFirst {
            let count = self.anchors.values().filter(|repeated| **repeated).count();
            card.gates.push(self.anchor_account.named(clusters(count, "same anchor")).finish("same anchor"));
        }
        if self.split == 0 {
            return Err(nothing_left(&card.gates));
        }
        self.train.finish()?;
        let mut account = Account::default();
        let mut sides = Vec::new();
        for (held_out, share) in self.held_out.into_iter().zip([self.config.split.validation, self.config.split.test]) {
            let name = held_out.name();
            let pairs = held_out.finish(&mut account);
            if share > 0.0 && pairs.is_empty() {
                return Err(Error::Empty {
                    what: format!("no group is left for {}", name.trim_start_matches("max_")),
                    hint: Some("a larger share, or `split: { by: pair }`, which splits inside groups".into()),
                });
            }
            sides.push(PairSet::new(pairs)?);
        }
        account.set_before(self.split);
        if !account.is_clean() {
            card.gates.push(account.finish("split"));
        }
        let test = sides.pop().unwrap_or_default();
        Ok((sides.pop().unwrap_or_default(), test))
    }
}

/// Whether a key was there before; then that is noted.
fn repeats<K: std::hash::Hash + Eq>(seen: &mut HashMap<K, bool>, key: K) -> bool {
    match seen.entry(key) {
        std::collections::hash_map::Entry::Occupied(mut known) => {
            known.insert(true);
            true
        }
        std::collections::hash_map::Entry::Vacant(free) => {
            free.insert(false);
            false
        }
    }
}

/// Goes through the training pairs again, now that the held-out ones are known: takes leaks out, and counts.
fn write_train(
    from: &Path,
    to: &Path,
    config: &PrepareConfig,
    held_out: &mut Prepared,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let mut leaks_of_test = Leaking::default();
    let mut account = Account::default();
    let mut counter = SplitCounter::default();
    let mut writer = PairWriter::create(to)?;
    let (validation, test) = (held_out.validation.pairs(), held_out.test.pairs());
    let mut first = 0;
    progress(Progress::new("looking for leaks", 0, 0));
    let mut look_at = |chunk: Vec<Pair>| -> Result<()> {
        let of_test = audit(&chunk, test, &config.leaks, &config.split);
        let mut removed = BTreeMap::new();
        if config.leaks.drop_leaks {
            let of_validation = audit(&chunk, validation, &config.leaks, &config.split);
            removed = leaking(&[("test", &of_test), ("validation", &of_validation)]);
        }
        leaks_of_test.add(of_test, &removed, &chunk, first);
        first += chunk.len();
        for (at, pair) in chunk.into_iter().enumerate() {
            match removed.get(&at) {
                Some(reason) => account.drop_pair(reason, &pair),
                None => {
                    account.keep();
                    counter.count(&pair);
                    writer.push(pair)?;
                }
            }
        }
        progress(Progress::new("looking for leaks", first, first));
        Ok(())
    };
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    each_pair(from, &mut |pair| {
        bytes += pair.anchor.len() + pair.positive.len();
        chunk.push(pair);
        if chunk.len() == CHUNK.0 || bytes > CHUNK.1 {
            bytes = 0;
            return look_at(std::mem::take(&mut chunk));
        }
        Ok(())
    })?;
    look_at(chunk)?;
    writer.finish()?;
    let card = &mut held_out.card;
    card.leaks = leaks_of_test.leaks(test);
    if config.leaks.drop_leaks {
        card.gates.push(account.finish("leaks"));
    }
    if counter.is_empty() {
        return Err(nothing_left(&card.gates));
    }
    counter.write("train", card);
    for (name, pairs) in [("validation", validation), ("test", test)] {
        let mut counter = SplitCounter::default();
        pairs.iter().for_each(|pair| counter.count(pair));
        counter.write(name, card);
    }
    Ok(())
}

/// What the test pairs share with the training pairs, chunk by chunk.
#[derive(Default)]
struct Leaking {
    matches: Vec<Match>,
    removed: BTreeMap<usize, String>,
    /// Ids of the training pairs that are in a match.
    ids: HashMap<usize, String>,
    /// Held-out pairs that have a training pair of their group already.
    grouped: HashSet<usize>,
}

impl Leaking {
    fn add(&mut self, matches: Vec<Match>, removed: &BTreeMap<usize, String>, chunk: &[Pair], first: usize) {
        for found in matches {
            if found.kind == Kind::Group && !self.grouped.insert(found.test) {
                continue;
            }
            let train = first + found.train;
            self.ids.entry(train).or_insert_with(|| chunk[found.train].id.clone());
            if let Some(reason) = removed.get(&found.train) {
                self.removed.insert(train, reason.clone());
            }
            self.matches.push(Match { train, ..found });
        }
    }

    fn leaks(mut self, test: &[Pair]) -> Vec<wb_core::records::data::Leak> {
        self.matches.sort_unstable();
        let ids = self.ids;
        leaks(&self.matches, &|train| ids.get(&train).cloned().unwrap_or_default(), test, &self.removed)
    }
}
