//! The end of preparation in parts: what has to be decided in the order of all pairs.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use wb_core::{
    Error, Pair, Progress, Result, Seed,
    fingerprint::text_key,
    publish::{self, Published},
    records::data::SourceCount,
};

use super::{PartShingles, shingles, sketched::SketchedPart};
use crate::{
    PrepareConfig, PreparedPairs,
    chunks::Chunks,
    near::{Edges, WholeCrowds, choose, pairs_of},
    store::{PROOF, each_pair, load_held_out},
    streaming::{CHUNK, OnDisk},
};

/// Files that were made of a part, on this machine.
pub struct SketchedFiles {
    /// The account.
    pub account: SketchedPart,
    /// Ids of all pairs.
    pub ids: PathBuf,
    /// Pairs that have passed the filter.
    pub pairs: PathBuf,
}

/// Results of the search for near duplicates.
pub struct NearFiles {
    /// Files of pairs that are near.
    pub near: Vec<PathBuf>,
    /// Records of keys that many texts share.
    pub crowds: PathBuf,
    /// Shingles of all parts, in their order.
    pub shingles: Vec<PartShingles>,
}

/// [`crate::streaming::prepare_streaming`] of pairs that were read elsewhere, part by part in the order of the sources, into
/// the same bytes. Sources come with their names, and with what was skipped that no part has counted.
///
/// # Errors
///
/// If an id stands twice in a source, or nothing is left for a side of the split.
pub fn merge_parts(
    sources: Vec<SourceCount>,
    parts: &mut dyn Iterator<Item = Result<SketchedFiles>>,
    near: Option<NearFiles>,
    (config, seed): (&PrepareConfig, Seed),
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<PreparedPairs> {
    let published = publish::folder(folder, PROOF, |inside| -> Result<PreparedPairs> {
        let mut merging = Merging {
            on_disk: OnDisk::create(config, seed, inside)?,
            waiting: Chunks::new(CHUNK),
            is_there: Vec::new(),
            source: usize::MAX,
            seen: HashSet::new(),
        };
        merging.on_disk.card.sources = sources;
        for part in parts {
            merging.take(&part?)?;
        }
        merging.pass_waiting()?;
        let Merging { on_disk, is_there, .. } = merging;
        let mut near = near;
        let mut first = |progress: &mut dyn FnMut(Progress)| match near.take() {
            None => Ok(Vec::new()),
            Some(near) => first_of(near, &is_there, config.dedupe.near, inside, progress),
        };
        on_disk.finish(&mut first, progress)
    })?;
    match published {
        Published::Ours(prepared) => Ok(prepared),
        Published::Theirs => load_held_out(folder),
    }
}

/// Pairs of all parts on their way.
struct Merging<'a> {
    on_disk: OnDisk<'a>,
    waiting: Chunks<Pair>,
    /// True for each text that passed the filter and repeats none before.
    is_there: Vec<bool>,
    source: usize,
    /// Ids of the source so far.
    seen: HashSet<[u64; 2]>,
}

impl Merging<'_> {
    fn take(&mut self, part: &SketchedFiles) -> Result<()> {
        let mut ids = Ids::open(part)?;
        each_pair(&part.pairs, &mut |pair| {
            while let Some((mut known, reason)) = ids.next(self)? {
                let Some(reason) = reason else {
                    known = Pair { id: known.id, ..pair };
                    return match self.waiting.push(known) {
                        Some(chunk) => self.pass(chunk),
                        None => Ok(()),
                    };
                };
                self.on_disk.cleaning.count_dropped(&reason, &known);
            }
            Err(Error::file(&part.pairs, "has more pairs than there are ids"))
        })?;
        while let Some((pair, reason)) = ids.next(self)? {
            let reason = reason.ok_or_else(|| Error::file(&part.pairs, "has fewer pairs than there are ids"))?;
            self.on_disk.cleaning.count_dropped(&reason, &pair);
        }
        for count in &part.account.parts {
            let source = self.on_disk.card.sources.get_mut(count.source).ok_or_else(|| not_ours(&part.ids))?;
            source.pairs += count.pairs;
            for (reason, number) in &count.skipped {
                *source.skipped.entry(reason.clone()).or_default() += number;
            }
        }
        Ok(())
    }

    /// A pair's id among those of all sources.
    fn claim(&mut self, pair: Pair, source: usize) -> Result<Pair> {
        if source != self.source {
            (self.source, self.seen) = (source, HashSet::new());
        }
        if !self.seen.insert(text_key(&pair.id)) {
            let message = format!("the id `{}` stands twice in it, expected unique ids", pair.id);
            let name = self.on_disk.card.sources.get(source).map_or_else(String::new, |source| source.name.clone());
            return Err(Error::data(name, message)
                .with_hint("set `fields: { id: null }` so that pairs are named by file and line"));
        }
        Ok(self.on_disk.ids.claim(pair, source))
    }

    fn pass(&mut self, chunk: Vec<Pair>) -> Result<()> {
        let passed = self.on_disk.cleaning.pass_filtered(chunk);
        self.is_there.extend(passed.iter().map(Option::is_some));
        self.on_disk.take(passed.into_iter().flatten().collect())
    }

    fn pass_waiting(&mut self) -> Result<()> {
        let rest = self.waiting.rest();
        self.pass(rest)
    }
}

/// The ids of a part, in order.
struct Ids<'a> {
    account: &'a SketchedPart,
    path: &'a Path,
    lines: BufReader<File>,
    line: String,
    next: u64,
    /// The file whose pairs come, and how many of them still do.
    part: usize,
    left: u64,
}

impl<'a> Ids<'a> {
    fn open(part: &'a SketchedFiles) -> Result<Self> {
        let lines = BufReader::new(File::open(&part.ids).map_err(Error::io("read", &part.ids))?);
        let left = part.account.parts.first().map_or(0, |part| part.pairs);
        Ok(Self { account: &part.account, path: &part.ids, lines, line: String::new(), next: 0, part: 0, left })
    }

    /// The next pair without its texts, and the reason for which the filter dropped it; of those the first with anchors.
    fn next(&mut self, merging: &mut Merging<'_>) -> Result<Option<(Pair, Option<String>)>> {
        self.line.clear();
        if self.lines.read_line(&mut self.line).map_err(Error::io("read", self.path))? == 0 {
            return Ok(None);
        }
        let not_ours = || not_ours(self.path);
        let (id, number): (String, Option<u16>) = serde_json::from_str(&self.line).map_err(|_| not_ours())?;
        while self.left == 0 {
            self.part += 1;
            self.left = self.account.parts.get(self.part).ok_or_else(not_ours)?.pairs;
        }
        self.left -= 1;
        let anchor = self.account.examples.get(&self.next).cloned().unwrap_or_default();
        self.next += 1;
        let reason = number.map(|number| self.account.reasons.get(usize::from(number)).ok_or_else(not_ours));
        let reason = reason.transpose()?.cloned();
        let pair = merging.claim(Pair { id, anchor, ..Pair::default() }, self.account.parts[self.part].source)?;
        Ok(Some((pair, reason)))
    }
}

fn not_ours(ids: &Path) -> Error {
    Error::file(ids, "is no list of ids that a part has written")
}

/// Positions of kept texts among those that are there.
fn first_of(
    files: NearFiles,
    is_there: &[bool],
    threshold: f64,
    inside: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<u32>> {
    let mut edges = Edges::default();
    for file in &files.near {
        edges.extend(pairs_of(&fs::read(file).map_err(Error::io("read", file))?).collect());
    }
    let crowds = WholeCrowds::open(&files.crowds);
    let first = choose(is_there, &mut edges, &crowds, &shingles(files.shingles, threshold), inside, progress)?;
    let mut place = 0;
    let places: Vec<u32> = is_there
        .iter()
        .map(|is_there| {
            let here = place;
            place += u32::from(*is_there);
            here
        })
        .collect();
    let there = first.iter().zip(is_there).filter(|(_, is_there)| **is_there);
    Ok(there.map(|(first, _)| places[*first as usize]).collect())
}
