//! Pairs that need not fit into memory: read, cleaned and split one by one, training pairs straight to the disk.
//!
//! Some dozens of bytes a pair stay in memory (hashes of ids, positives, anchors and groups), and the held-out pairs; near duplicates are found on the disk. The gates that can be passed so are those of [`crate::prepare()`], and
//! their result is the same, pair for pair and count for count; a held-out side for which no group is left is an error here.

use std::{
    fs,
    path::{Path, PathBuf},
};

use wb_core::{
    Pair, PairSet, Progress, Seed,
    publish::{self, Published},
    records::data::{DataCard, Gate, SourceCount},
};

use crate::{
    Error, PreparedPairs, Result, SourceRead,
    chunks::Chunks,
    clean::Cleaning,
    dedupe::NearAccount,
    leak::LeakGate,
    near::NearTexts,
    prepare::{PrepareConfig, SplitCounter, UniqueIds, count_source, no_pairs, nothing_left},
    split::{HeldOutSides, SplitConfig},
    store::{PROOF, PairWriter, each_pair, load_held_out, write_rest},
};

/// Pairs and bytes that are looked at together.
pub(crate) const CHUNK: (usize, usize) = (32_768, 128 << 20);

/// Training pairs before it is known which leak.
const SPLIT: &str = "split.parquet";

/// Reads one source, pair by pair.
pub type ReadSource<'a> =
    Box<dyn FnOnce(&mut dyn FnMut(Pair) -> Result<()>, &mut dyn FnMut(Progress)) -> Result<SourceRead> + 'a>;

/// Refuses gates that need all pairs at once; `key` is the config path of the data section, `with` what has them apart.
pub fn check(config: &PrepareConfig, key: &str, with: &str) -> wb_core::Result<()> {
    let refuse = |field: &str, message: &str| {
        let message = format!("{message} {with}: it needs all pairs in memory");
        Err(Error::value(format!("{key}.{field}"), message))
    };
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
    check(config, "data", "with data.streaming")?;
    let published = publish::folder(folder, PROOF, |inside| -> Result<PreparedPairs> {
        let mut on_disk = OnDisk::create(config, seed, inside)?;
        let near = config.dedupe.near;
        let mut texts = (near > 0.0).then(|| NearTexts::create(&inside.join("near"), near)).transpose()?;
        let mut waiting = Chunks::new(CHUNK);
        let mut pass = |chunk: Vec<Pair>, on_disk: &mut OnDisk<'_>| {
            let clean = on_disk.cleaning.pass(chunk);
            if let Some(texts) = &mut texts {
                texts.push(&clean.iter().map(Pair::document).collect::<Vec<_>>())?;
            }
            on_disk.take(clean)
        };
        for (position, read) in sources.into_iter().enumerate() {
            let mut pairs = 0;
            let mut take = |pair| {
                pairs += 1;
                let pair = on_disk.ids.claim(pair, position);
                waiting.push(pair).map_or(Ok(()), |chunk| pass(chunk, &mut on_disk))
            };
            let source = read(&mut take, progress)?;
            on_disk.card.sources.push(SourceCount { pairs, ..count_source(&source) });
        }
        pass(waiting.rest(), &mut on_disk)?;
        on_disk.finish(&mut |progress| texts.take().map_or(Ok(Vec::new()), |texts| texts.finish(progress)), progress)
    })?;
    match published {
        Published::Ours(held_out) => Ok(held_out),
        Published::Theirs => load_held_out(folder),
    }
}

/// Pairs on their way through the gates, into a folder.
pub(crate) struct OnDisk<'a> {
    config: &'a PrepareConfig,
    inside: &'a Path,
    /// The ids of all pairs that were read.
    pub(crate) ids: UniqueIds,
    /// The first gates.
    pub(crate) cleaning: Cleaning<'a>,
    /// The account, which has the sources alone until the end.
    pub(crate) card: DataCard,
    near: Option<NearGate>,
    gate: SplitGate<'a>,
}

/// The first kept text that each text is near, itself where it is kept, once all are there.
pub(crate) type FirstOfEach<'a> = dyn FnMut(&mut dyn FnMut(Progress)) -> Result<Vec<u32>> + 'a;

impl<'a> OnDisk<'a> {
    pub(crate) fn create(config: &'a PrepareConfig, seed: Seed, inside: &'a Path) -> Result<Self> {
        let near = config.dedupe.near;
        Ok(Self {
            config,
            inside,
            ids: UniqueIds::default(),
            cleaning: Cleaning::new(&config.filter, &config.dedupe),
            card: DataCard::default(),
            near: (near > 0.0).then(|| NearGate::create(inside, near)).transpose()?,
            gate: SplitGate::create(config, seed, &inside.join(SPLIT))?,
        })
    }

    /// Takes pairs that have passed the first gates.
    pub(crate) fn take(&mut self, clean: Vec<Pair>) -> Result<()> {
        match &mut self.near {
            Some(near) => near.push(clean),
            None => self.gate.pass(clean),
        }
    }

    /// Passes the other gates, and writes everything. Near duplicates are asked for once, where they are looked for.
    pub(crate) fn finish(
        mut self,
        first: &mut FirstOfEach<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<PreparedPairs> {
        let mut card = self.card;
        if self.ids.is_empty() {
            return Err(no_pairs(&card.sources));
        }
        card.gates.extend(self.cleaning.finish());
        if let Some(near) = self.near {
            card.gates.push(near.finish(&first(progress)?, &mut |chunk| self.gate.pass(chunk))?);
        }
        let (validation, test) = self.gate.finish(&mut card)?;
        let mut held_out = PreparedPairs { train: PairSet::default(), validation, test, card };
        let split = self.inside.join(SPLIT);
        write_train(&split, &self.inside.join("train.parquet"), self.config, &mut held_out, progress)?;
        fs::remove_file(&split).map_err(Error::io("remove", &split))?;
        write_rest(&held_out, self.inside)?;
        Ok(held_out)
    }
}

/// Pairs that wait on the disk until it is known which are near duplicates.
struct NearGate {
    threshold: f64,
    path: PathBuf,
    pairs: PairWriter,
}

impl NearGate {
    fn create(folder: &Path, threshold: f64) -> Result<Self> {
        let path = folder.join("clean.parquet");
        Ok(Self { threshold, pairs: PairWriter::create(&path)?, path })
    }

    fn push(&mut self, pairs: Vec<Pair>) -> Result<()> {
        pairs.into_iter().try_for_each(|pair| self.pairs.push(pair))
    }

    /// Gives the pairs that stay to `take`, and the account of the others.
    fn finish(self, first: &[u32], take: &mut dyn FnMut(Vec<Pair>) -> Result<()>) -> Result<Gate> {
        self.pairs.finish()?;
        let mut gate = NearAccount::new(first, self.threshold);
        let mut waiting = Chunks::new(CHUNK);
        each_pair(&self.path, &mut |pair| match gate.keeps(&pair) {
            true => waiting.push(pair).map_or(Ok(()), &mut *take),
            false => Ok(()),
        })?;
        take(waiting.rest())?;
        fs::remove_file(&self.path).map_err(Error::io("remove", &self.path))?;
        Ok(gate.finish())
    }
}

/// The split: held-out pairs into memory, those of training to the disk.
struct SplitGate<'a> {
    split: &'a SplitConfig,
    seed: Seed,
    /// True once there was a pair that may be held out.
    has_pairs: bool,
    held_out: HeldOutSides,
    train: PairWriter,
}

impl<'a> SplitGate<'a> {
    fn create(config: &'a PrepareConfig, seed: Seed, spill: &Path) -> Result<Self> {
        let (split, train) = (&config.split, PairWriter::create(spill)?);
        Ok(Self { split, seed, has_pairs: false, held_out: HeldOutSides::new(split, seed), train })
    }

    fn pass(&mut self, pairs: Vec<Pair>) -> Result<()> {
        for pair in pairs {
            self.has_pairs |= self.split.holds_out(&pair);
            let side = self.split.side(&pair, self.seed);
            if let Some(pair) = self.held_out.take(side, pair) {
                self.train.push(pair)?;
            }
        }
        Ok(())
    }

    /// The pairs for validation and for test, and the account where some were over a limit.
    fn finish(self, card: &mut DataCard) -> Result<(PairSet, PairSet)> {
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
