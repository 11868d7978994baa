//! Candidates by their true similarity.

use std::{fs, path::Path, sync::Arc};

use rayon::prelude::*;
use wb_core::{Error, Progress, RangeReader, Result, range_reader::FileRanges};

use super::{
    FILES, STAGE,
    decide::Edges,
    records::{Routed, pair_number, pairs_of},
    sketches::check,
};
use crate::minhash::{MinHash, Sketch};

/// Shingles of texts in a row, one text after another.
pub(crate) struct ShinglesPart {
    bytes: Arc<dyn RangeReader>,
    /// Where each text begins, and where the last one ends.
    offsets: Vec<u64>,
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
        Self { bytes, offsets }
    }

    /// The part in a file of this machine.
    pub(crate) fn of_file(path: &Path, lengths: &[u32]) -> Result<Self> {
        Ok(Self::new(Arc::new(FileRanges::open(path)?), lengths))
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

    fn sketch(&self, text: u32) -> Result<Sketch> {
        let part = self.bases.partition_point(|base| *base <= text) - 1;
        let (part, at) = (&self.parts[part], (text - self.bases[part]) as usize);
        let bytes = part.bytes.read(part.offsets[at]..part.offsets[at + 1])?;
        let mut numbers: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
        match numbers.pop() {
            Some(number) if number == check(&numbers) => Ok(self.minhash.sketch_of(numbers)),
            _ => Err(Error::failed(format!("the shingles of text {text} are not those that were written"))),
        }
    }

    /// Pairs that are near, of candidates in any order and number; sorted.
    pub(crate) fn near(&self, candidates: Vec<[u32; 2]>) -> Result<Vec<[u32; 2]>> {
        let mut numbers: Vec<u64> = candidates.into_iter().map(pair_number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut near = Vec::new();
        let mut earlier: Option<(u32, Sketch)> = None;
        for number in numbers {
            let [first, later] = [(number >> 32) as u32, number as u32];
            let sketch = match earlier.take() {
                Some((text, sketch)) if text == first => sketch,
                _ => self.sketch(first)?,
            };
            if sketch.near(&self.sketch(later)?, self.threshold) {
                near.push([first, later]);
            }
            earlier = Some((first, sketch));
        }
        Ok(near)
    }

    /// Adds the candidates that are near to the edges, and takes their files away.
    pub(crate) fn verify_all(
        &self,
        found: Routed,
        edges: &mut Edges,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        for (at, some) in found.files()?.chunks(rayon::current_num_threads()).enumerate() {
            progress(Progress::new(STAGE, at * some.len(), FILES).note("similarities"));
            let verified = some.par_iter().map(|file| {
                let bytes = fs::read(file).map_err(Error::io("read", file))?;
                self.near(pairs_of(&bytes).collect())
            });
            verified.collect::<Result<Vec<_>>>()?.into_iter().for_each(|pairs| edges.extend(pairs));
            some.iter().try_for_each(|file| fs::remove_file(file).map_err(Error::io("remove", file)))?;
        }
        Ok(())
    }
}
