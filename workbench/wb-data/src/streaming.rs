//! Pairs that need not fit into memory: read, cleaned and split one by one, training pairs straight to the disk.
//!
//! What stays in memory is 16 to 48 bytes a pair (hashes of ids, positives, anchors and groups) and the held-out pairs.
//! The gates that can be passed so are those of [`crate::prepare()`], and their result is the same, pair for pair and
//! count for count; a held-out side for which no group is left is an error here.

use std::{fs, path::Path};

use wb_core::{
    Pair, PairSet, Progress, Seed,
    publish::{self, Published},
    records::data::{DataCard, SourceCount},
};

use crate::{
    Error, PreparedPairs, Result, SourceRead,
    chunks::Chunks,
    clean::Cleaning,
    leak::LeakGate,
    prepare::{PrepareConfig, SplitCounter, UniqueIds, count_source, no_pairs, nothing_left},
    split::{HeldOutSides, SplitConfig},
    store::{PROOF, PairWriter, each_pair, load_held_out, write_rest},
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
        Err(Error::value(format!("{key}.{field}"), message))
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
) -> Result<PreparedPairs> {
    config.validate("data")?;
    check(config, "data")?;
    let published = publish::folder(folder, PROOF, |inside| -> Result<PreparedPairs> {
        let spill = inside.join("all.parquet");
        let mut gates = FirstGates::new(config, seed, &spill)?;
        let mut card = DataCard::default();
        for (position, read) in sources.into_iter().enumerate() {
            let mut pairs = 0;
            let mut take = |pair| {
                pairs += 1;
                gates.take(pair, position)
            };
            let source = read(&mut take, progress)?;
            card.sources.push(SourceCount { pairs, ..count_source(&source) });
        }
        let (validation, test) = gates.finish(&mut card)?;
        let mut held_out = PreparedPairs { train: PairSet::default(), validation, test, card };
        write_train(&spill, &inside.join("train.parquet"), config, &mut held_out, progress)?;
        fs::remove_file(&spill).map_err(Error::io("remove", &spill))?;
        write_rest(&held_out, inside)?;
        Ok(held_out)
    })?;
    match published {
        Published::Ours(held_out) => Ok(held_out),
        Published::Theirs => load_held_out(folder),
    }
}

/// The gates before the held-out pairs are known: filter, duplicates and split.
struct FirstGates<'a> {
    split: &'a SplitConfig,
    seed: Seed,
    ids: UniqueIds,
    /// True once there was a pair that may be held out.
    has_pairs: bool,
    waiting: Chunks<Pair>,
    cleaning: Cleaning<'a>,
    held_out: HeldOutSides,
    train: PairWriter,
}

impl<'a> FirstGates<'a> {
    fn new(config: &'a PrepareConfig, seed: Seed, spill: &Path) -> Result<Self> {
        Ok(Self {
            split: &config.split,
            seed,
            ids: UniqueIds::default(),
            has_pairs: false,
            waiting: Chunks::new(CHUNK),
            cleaning: Cleaning::new(&config.filter, &config.dedupe),
            held_out: HeldOutSides::new(&config.split, seed),
            train: PairWriter::create(spill)?,
        })
    }

    /// Takes the next pair, of the source at a position.
    fn take(&mut self, pair: Pair, position: usize) -> Result<()> {
        match self.waiting.push(self.ids.claim(pair, position)) {
            Some(chunk) => self.pass(chunk),
            None => Ok(()),
        }
    }

    fn pass(&mut self, chunk: Vec<Pair>) -> Result<()> {
        for pair in self.cleaning.pass(chunk) {
            self.has_pairs |= self.split.holds_out(&pair);
            let side = self.split.side(&pair, self.seed);
            if let Some(pair) = self.held_out.take(side, pair) {
                self.train.push(pair)?;
            }
        }
        Ok(())
    }

    /// Puts the accounts into the card in the order of the gates, and gives the pairs for validation and for test.
    fn finish(mut self, card: &mut DataCard) -> Result<(PairSet, PairSet)> {
        let chunk = self.waiting.rest();
        self.pass(chunk)?;
        if self.ids.is_empty() {
            return Err(no_pairs(&card.sources));
        }
        card.gates.extend(self.cleaning.finish());
        if self.held_out.is_empty() {
            return Err(nothing_left(&card.gates));
        }
        if !self.has_pairs
            && let Some(error) = self.split.nothing_to_hold_out()
        {
            return Err(error);
        }
        self.train.finish()?;
        let (validation, test, account) = self.held_out.finish();
        for (name, share, pairs) in
            [("validation", self.split.validation, &validation), ("test", self.split.test, &test)]
        {
            if share > 0.0 && pairs.is_empty() && self.has_pairs {
                return Err(Error::failed(format!("no group is left for {name}"))
                    .with_hint("a larger share, or `split: { by: pair }`, which splits inside groups"));
            }
        }
        card.gates.extend(account);
        Ok((PairSet::new(validation)?, PairSet::new(test)?))
    }
}

/// Goes through the training pairs again, now that the held-out ones are known: takes leaks out, and counts.
fn write_train(
    from: &Path,
    to: &Path,
    config: &PrepareConfig,
    held_out: &mut PreparedPairs,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let (validation, test) = (held_out.validation.pairs(), held_out.test.pairs());
    let mut leaks = LeakGate::new(&config.leaks, &config.split, validation, test);
    let mut counter = SplitCounter::default();
    let mut writer = PairWriter::create(to)?;
    let mut done = 0;
    progress(Progress::new("looking for leaks", 0, 0));
    let mut pass = |chunk: Vec<Pair>| -> Result<()> {
        done += chunk.len();
        for pair in leaks.pass(chunk) {
            counter.count(&pair);
            writer.push(pair)?;
        }
        progress(Progress::new("looking for leaks", done, done));
        Ok(())
    };
    let mut waiting = Chunks::new(CHUNK);
    each_pair(from, &mut |pair| waiting.push(pair).map_or(Ok(()), &mut pass))?;
    pass(waiting.rest())?;
    writer.finish()?;
    let card = &mut held_out.card;
    let (leaks, account) = leaks.finish();
    card.leaks = leaks;
    card.gates.extend(account);
    if counter.is_empty() {
        return Err(nothing_left(&card.gates));
    }
    counter.write("train", card);
    SplitCounter::of(validation).write("validation", card);
    SplitCounter::of(test).write("test", card);
    Ok(())
}
