//! Records on the disk: for every band of a text its key, the text and a short signature; pairs of texts.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use wb_core::{Error, Result};

use crate::minhash::{PERMUTATIONS, Sketch};

/// Files that records go to.
pub(crate) const FILES: usize = 256;
/// Bytes that wait for each of them.
const WAITING: usize = 32 << 10;

/// The last four bits of each value of a signature (P. Li, C. König, "b-Bit Minwise Hashing", 2010). Signatures agree at
/// least where their short ones do not differ, so no pair is lost by these alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortSignature([u64; PERMUTATIONS / 16]);

impl ShortSignature {
    pub(crate) fn of(sketch: &Sketch) -> Self {
        let mut short = [0; PERMUTATIONS / 16];
        for (word, values) in short.iter_mut().zip(sketch.signature().chunks_exact(16)) {
            *word = values.iter().fold(0, |word, value| word << 4 | u64::from(value & 15));
        }
        Self(short)
    }

    /// The share of values that agree: nowhere less than that of the whole signatures.
    pub(crate) fn agreement(&self, other: &Self) -> f64 {
        const LAST: u64 = 0x1111_1111_1111_1111;
        let differ = |(a, b): (&u64, &u64)| {
            let bits = a ^ b;
            let bits = bits | bits >> 2;
            ((bits | bits >> 1) & LAST).count_ones() as usize
        };
        let differ: usize = self.0.iter().zip(&other.0).map(differ).sum();
        (PERMUTATIONS - differ) as f64 / PERMUTATIONS as f64
    }
}

/// One band of one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BandRecord {
    /// Hash of the band's place and values.
    pub key: u64,
    /// Position of the text.
    pub text: u32,
    /// Signature of the text.
    pub signature: ShortSignature,
}

impl BandRecord {
    /// Length in bytes.
    pub(crate) const BYTES: usize = 12 + PERMUTATIONS / 2;

    pub(crate) fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.text.to_le_bytes());
        for (to, word) in bytes[12..].chunks_exact_mut(8).zip(self.signature.0) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The record of so many bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let word = |at: usize| bytes[at..].iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let signature = ShortSignature(std::array::from_fn(|at| word(12 + 8 * at)));
        Self { key: word(0), text: word(8) as u32, signature }
    }
}

/// The number of a pair that has the earlier text first.
pub(crate) fn pair_number([earlier, later]: [u32; 2]) -> u64 {
    u64::from(earlier) << 32 | u64::from(later)
}

/// Pairs of texts out of bytes.
pub(crate) fn pairs_of(bytes: &[u8]) -> impl Iterator<Item = [u32; 2]> {
    let (numbers, _) = bytes.as_chunks::<8>();
    numbers.iter().map(|number| u64::from_le_bytes(*number)).map(|number| [(number >> 32) as u32, number as u32])
}

/// Files of a folder that records go to by a number.
pub(crate) struct Routed {
    files: Vec<(PathBuf, BufWriter<File>)>,
}

impl Routed {
    pub(crate) fn create(folder: &Path, name: &str) -> Result<Self> {
        let file = |at: usize| {
            let path = folder.join(format!("{name}-{at:03}"));
            let file = File::create(&path).map_err(Error::io("create", &path))?;
            Ok((path, BufWriter::with_capacity(WAITING, file)))
        };
        Ok(Self { files: (0..FILES).map(file).collect::<Result<_>>()? })
    }

    /// Writes a band's record to the file of its key.
    pub(crate) fn write_record(&mut self, record: &BandRecord) -> Result<()> {
        self.write((record.key >> 56) as usize, &record.bytes())
    }

    /// Writes pairs of texts, of so many in all, each to the file of the range that the earlier one lies in.
    pub(crate) fn write_pairs(&mut self, pairs: &[[u32; 2]], texts: usize) -> Result<()> {
        let width = texts.div_ceil(FILES).max(1);
        pairs.iter().try_for_each(|pair| self.write(pair[0] as usize / width, &pair_number(*pair).to_le_bytes()))
    }

    fn write(&mut self, file: usize, record: &[u8]) -> Result<()> {
        let (path, to) = &mut self.files[file];
        to.write_all(record).map_err(Error::io("write", &*path))
    }

    /// The files, whole.
    pub(crate) fn files(self) -> Result<Vec<PathBuf>> {
        let whole = |(path, mut to): (PathBuf, BufWriter<File>)| match to.flush() {
            Ok(()) => Ok(path),
            Err(error) => Err(Error::io("write", &path)(error)),
        };
        self.files.into_iter().map(whole).collect()
    }

    /// Takes the files away.
    pub(crate) fn remove(self) -> Result<()> {
        self.files()?.iter().try_for_each(|file| std::fs::remove_file(file).map_err(Error::io("remove", file)))
    }
}
