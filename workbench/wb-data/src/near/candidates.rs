//! Pairs of texts that share a key and may be near.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read as _, Write as _},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use wb_core::{Error, Result};

use super::records::{BandRecord, Routed};
use crate::minhash::least_estimate;

/// Texts that share a key and are still compared all with all.
const FEW: usize = 32;

/// Candidates among records of keys that stand nowhere else, each pair with the earlier text first and none twice, and the
/// records of crowds. Records come in slices, with the number of the text that each slice counts from.
fn candidates(slices: &[(u32, Vec<u8>)], threshold: f64) -> (Vec<[u32; 2]>, Vec<BandRecord>) {
    let cut = least_estimate(threshold);
    let record = |slice: u32, at: u32| {
        let (base, bytes) = &slices[slice as usize];
        let record = BandRecord::of(&bytes[at as usize * BandRecord::BYTES..]);
        BandRecord { text: base + record.text, ..record }
    };
    let mut order: Vec<(u64, u32, u32, u32)> = Vec::new();
    for (slice, (_, bytes)) in (0..).zip(slices) {
        order.extend((0..(bytes.len() / BandRecord::BYTES) as u32).map(|at| {
            let BandRecord { key, text, .. } = record(slice, at);
            (key, text, slice, at)
        }));
    }
    order.sort_unstable();
    let (mut pairs, mut crowded, mut shared) = (Vec::new(), Vec::new(), Vec::new());
    for run in order.chunk_by(|(a, ..), (b, ..)| a == b).filter(|run| run.len() > 1) {
        shared.clear();
        shared.extend(run.iter().map(|(_, _, slice, at)| record(*slice, *at)));
        if shared.len() <= FEW {
            for (at, later) in shared.iter().enumerate() {
                let earlier = shared[..at].iter().filter(|earlier| may_be_near(earlier, later, cut));
                pairs.extend(earlier.map(|earlier| [earlier.text, later.text]));
            }
        } else {
            crowd(&shared, cut, &mut pairs);
            crowded.extend_from_slice(&shared);
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    (pairs, crowded)
}

fn may_be_near(a: &BandRecord, b: &BandRecord, cut: f64) -> bool {
    a.signature.agreement(&b.signature) >= cut
}

/// Candidates of a crowd if it were all that there is: a text that is like one which stands for itself does not.
fn crowd(shared: &[BandRecord], cut: f64, pairs: &mut Vec<[u32; 2]>) {
    let mut alone: Vec<&BandRecord> = Vec::new();
    for text in shared {
        let before = pairs.len();
        pairs.extend(alone.iter().filter(|earlier| may_be_near(earlier, text, cut)).map(|e| [e.text, text.text]));
        if pairs.len() == before {
            alone.push(text);
        }
    }
}

/// Candidates on the disk, as ranges of keys come.
pub(crate) struct Matcher {
    texts: usize,
    threshold: f64,
    found: Routed,
    crowds: Crowds,
}

impl Matcher {
    /// Candidates among so many texts in all, at a threshold of Jaccard similarity; files come into a folder.
    pub(crate) fn create(folder: &Path, texts: usize, threshold: f64) -> Result<Self> {
        let (found, crowds) = (Routed::create(folder, "candidates")?, Crowds::create(&folder.join("crowds"))?);
        Ok(Self { texts, threshold, found, crowds })
    }

    /// Takes ranges of keys: of each the records of every part, with the number of the part's first text.
    pub(crate) fn push(&mut self, ranges: &[Vec<(u32, Vec<u8>)>]) -> Result<()> {
        let matched: Vec<_> = ranges.par_iter().map(|records| candidates(records, self.threshold)).collect();
        matched.into_iter().try_for_each(|(pairs, crowded)| {
            self.found.write_pairs(&pairs, self.texts)?;
            self.crowds.push(&crowded)
        })
    }

    /// The candidates, by ranges of the earlier text, and the records of crowds.
    pub(crate) fn finish(self) -> Result<(Routed, WholeCrowds)> {
        Ok((self.found, self.crowds.finish()?))
    }
}

/// Keys that many texts share, written key by key.
struct Crowds {
    path: PathBuf,
    to: BufWriter<File>,
}

/// Keys that many texts share, to be read again and again.
pub(crate) struct WholeCrowds {
    path: PathBuf,
}

impl Crowds {
    fn create(path: &Path) -> Result<Self> {
        let to = BufWriter::new(File::create(path).map_err(Error::io("create", path))?);
        Ok(Self { path: path.to_owned(), to })
    }

    /// Takes whole crowds, each in the order of its texts.
    fn push(&mut self, records: &[BandRecord]) -> Result<()> {
        let mut records = records.iter();
        records.try_for_each(|record| self.to.write_all(&record.bytes())).map_err(Error::io("write", &self.path))
    }

    fn finish(mut self) -> Result<WholeCrowds> {
        self.to.flush().map_err(Error::io("write", &self.path))?;
        Ok(WholeCrowds { path: self.path })
    }
}

impl WholeCrowds {
    /// Crowds in a file that was written before.
    pub(crate) fn open(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives every candidate pair whose earlier text is new, crowd by crowd; false where no text of a crowd is.
    pub(crate) fn compare(
        &self,
        threshold: f64,
        is_new: &(impl Fn(u32) -> bool + Sync),
        take: &mut dyn FnMut(&[[u32; 2]]) -> Result<()>,
    ) -> Result<bool> {
        let mut from =
            BufReader::with_capacity(1 << 20, File::open(&self.path).map_err(Error::io("read", &self.path))?);
        let cut = least_estimate(threshold);
        let (mut bytes, mut shared, mut some) = ([0; BandRecord::BYTES], Vec::<BandRecord>::new(), false);
        loop {
            let next = match from.read_exact(&mut bytes) {
                Ok(()) => Some(BandRecord::of(&bytes)),
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => None,
                Err(error) => return Err(Error::io("read", &self.path)(error)),
            };
            if shared.first().is_some_and(|first| next.is_none_or(|next| next.key != first.key)) {
                let new: Vec<&BandRecord> = shared.iter().filter(|record| is_new(record.text)).collect();
                some |= !new.is_empty();
                let pairs: Vec<[u32; 2]> = shared
                    .par_iter()
                    .flat_map_iter(|later| {
                        let earlier = new.iter().take_while(|earlier| earlier.text < later.text);
                        earlier.filter(|earlier| may_be_near(earlier, later, cut)).map(|e| [e.text, later.text])
                    })
                    .collect();
                take(&pairs)?;
                shared.clear();
            }
            match next {
                Some(next) => shared.push(next),
                None => return Ok(some),
            }
        }
    }
}
