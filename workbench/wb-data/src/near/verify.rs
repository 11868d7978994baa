//! Candidates by their true similarity.

use std::{fs, ops::Range, path::Path, sync::Arc};

use rayon::prelude::*;
use wb_core::{Error, Progress, RangeReader, Result, range_reader::FileRanges};

use super::{
    FILES, STAGE,
    decide::Edges,
    records::{Routed, pairs_of},
    sketches::check,
};
use crate::minhash::{MinHash, Sketch};

/// Pairs that are looked at together, whose sketches are in memory: about a hundred megabytes.
const TOGETHER: usize = 1 << 16;

/// Bytes that are read at once.
const READ: u64 = 8 << 20;
/// Bytes between two texts that are read with them: of a file of this machine, and of a server, whose answer takes as long as
/// a megabyte.
const GAP: [u64; 2] = [4 << 10, 256 << 10];

/// Shingles of texts in a row, one text after another.
pub(crate) struct ShinglesPart {
    bytes: Arc<dyn RangeReader>,
    /// Places where texts begin, and where the last one ends.
    offsets: Vec<u64>,
    /// Bytes between two texts that are read with them.
    gap: u64,
}

/// Shingles of all texts.
pub(crate) struct Shingles {
    parts: Vec<ShinglesPart>,
    /// The first text of each part.
    bases: Vec<u32>,
    minhash: MinHash,
    threshold: f64,
}

impl ShinglesPart {
    /// The part that somebody has the bytes of, by the number of shingles of each text.
    pub(crate) fn new(bytes: Arc<dyn RangeReader>, lengths: &[u32]) -> Self {
        let mut offsets = vec![0];
        offsets.extend(lengths.iter().scan(0, |end, length| {
            *end += 4 * (u64::from(*length) + 1);
            Some(*end)
        }));
        Self { bytes, offsets, gap: GAP[1] }
    }

    /// The part in a file of this machine.
    pub(crate) fn of_file(path: &Path, lengths: &[u32]) -> Result<Self> {
        Ok(Self { gap: GAP[0], ..Self::new(Arc::new(FileRanges::open(path)?), lengths) })
    }
}

impl Shingles {
    /// Parts in their order; texts at least as similar as the threshold are near.
    pub(crate) fn new(parts: Vec<ShinglesPart>, threshold: f64) -> Self {
        let bases = parts.iter().scan(0, |next, part| {
            let base = *next;
            *next += part.offsets.len() as u32 - 1;
            Some(base)
        });
        Self { bases: bases.collect(), parts, minhash: MinHash::new(), threshold }
    }

    /// The similarity of texts that are near.
    pub(crate) fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Gives the candidates that are near to `take`, sorted; candidates come range by range of the earlier text, in bytes and
    /// in any order and number.
    pub(crate) fn near(
        &self,
        ranges: &mut dyn Iterator<Item = Result<Vec<u8>>>,
        take: &mut dyn FnMut(Vec<[u32; 2]>),
    ) -> Result<()> {
        let mut waiting: Vec<[u32; 2]> = Vec::new();
        for range in ranges {
            let mut pairs: Vec<[u32; 2]> = pairs_of(&range?).collect();
            pairs.par_sort_unstable();
            pairs.dedup();
            waiting.append(&mut pairs);
            let whole = waiting.len() - waiting.len() % TOGETHER;
            for pairs in waiting[..whole].chunks(TOGETHER) {
                take(self.near_of(pairs)?);
            }
            waiting.drain(..whole);
        }
        take(self.near_of(&waiting)?);
        Ok(())
    }

    fn near_of(&self, pairs: &[[u32; 2]]) -> Result<Vec<[u32; 2]>> {
        let mut texts: Vec<u32> = pairs.as_flattened().to_vec();
        texts.par_sort_unstable();
        texts.dedup();
        let sketches = self.sketches(&texts)?;
        let sketch = |text: u32| texts.binary_search(&text).ok().and_then(|at| sketches.get(at));
        let is_near = |[earlier, later]: &[u32; 2]| {
            sketch(*earlier).zip(sketch(*later)).is_some_and(|(a, b)| a.near(b, self.threshold))
        };
        Ok(pairs.par_iter().copied().filter(is_near).collect())
    }

    /// Sketches of texts in ascending order; what lies near together is read together.
    fn sketches(&self, texts: &[u32]) -> Result<Vec<Sketch>> {
        let place = |text: u32| {
            let part = self.bases.partition_point(|base| *base <= text) - 1;
            let (offsets, at) = (&self.parts[part].offsets, (text - self.bases[part]) as usize);
            (part, offsets[at]..offsets[at + 1])
        };
        let mut reads: Vec<(usize, Range<u64>, Vec<Range<u64>>)> = Vec::new();
        for (part, bytes) in texts.iter().map(|text| place(*text)) {
            match reads.last_mut() {
                Some((last, all, inside))
                    if *last == part
                        && bytes.start - all.end <= self.parts[part].gap
                        && bytes.end - all.start <= READ =>
                {
                    all.end = bytes.end;
                    inside.push(bytes);
                }
                _ => reads.push((part, bytes.clone(), vec![bytes])),
            }
        }
        let read = |(part, all, inside): &(usize, Range<u64>, Vec<Range<u64>>)| {
            let bytes = self.parts[*part].bytes.read(all.clone())?;
            let text = |range: &Range<u64>| {
                let text = bytes.get((range.start - all.start) as usize..(range.end - all.start) as usize);
                let (numbers, _) = text.unwrap_or_default().as_chunks::<4>();
                let mut numbers: Vec<u32> = numbers.iter().map(|four| u32::from_le_bytes(*four)).collect();
                match numbers.pop() {
                    Some(number) if number == check(&numbers) => Ok(self.minhash.sketch_of(numbers)),
                    _ => Err(Error::failed("the shingles of a text are not those that were written")),
                }
            };
            inside.iter().map(text).collect::<Result<Vec<_>>>()
        };
        Ok(reads.par_iter().map(read).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Adds the candidates that are near to the edges, and takes their files away.
    pub(crate) fn verify_all(
        &self,
        found: Routed,
        edges: &mut Edges,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let mut ranges = found.files()?.into_iter().enumerate().map(|(at, file)| {
            progress(Progress::new(STAGE, at, FILES).note("similarities"));
            let bytes = fs::read(&file).map_err(Error::io("read", &file))?;
            fs::remove_file(&file).map_err(Error::io("remove", &file))?;
            Ok(bytes)
        });
        self.near(&mut ranges, &mut |pairs| edges.extend(pairs))
    }
}
