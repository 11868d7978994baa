//! Pairs as soon as each is read: the filter, and a sketch.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Pair, Result, atomic};

use super::sliced::{Slice, SlicedFile};
use crate::{PrepareConfig, chunks::Chunks, near::SketchWriter, store::PairWriter, streaming::CHUNK};

/// Dropped pairs whose anchors are kept for each reason: as many as an account shows.
const EXAMPLES: u64 = crate::gate::EXAMPLES as u64;

/// Account of pairs that were read, filtered and sketched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SketchedPart {
    /// Files, or rows of them, in the order in which they were read.
    pub parts: Vec<PartCount>,
    /// Pairs that have passed the filter.
    pub texts: u64,
    /// Reasons for which the filter has dropped others, by the numbers that they have in the list of ids.
    pub reasons: Vec<String>,
    /// Anchors of the first dropped pairs of each reason, by their places among all that were read.
    pub examples: BTreeMap<u64, String>,
    /// Slices of the bands' records, by ranges of keys; none without near duplicates.
    pub keys: Vec<Slice>,
}

/// Account of a file, or of rows of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartCount {
    /// Position of its source.
    pub source: usize,
    /// Pairs that it gave.
    pub pairs: u64,
    /// Records that gave no pair, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// The files of a part that was worked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartFile {
    /// JSON lines: the id of each pair that was read, and the number of the reason for which the filter dropped it.
    Ids,
    /// Pairs that have passed the filter.
    Pairs,
    /// Records of bands, in slices.
    Keys,
    /// Shingles of all texts.
    Shingles,
    /// Number of shingles of each text, 32 bits each.
    Lengths,
}

impl PartFile {
    /// The name of the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ids => "ids.jsonl",
            Self::Pairs => "pairs.parquet",
            Self::Keys => "keys",
            Self::Shingles => "shingles",
            Self::Lengths => "lengths",
        }
    }
}

/// Pairs of a part as they are read.
pub struct PartWriter<'a> {
    config: &'a PrepareConfig,
    folder: PathBuf,
    waiting: Chunks<Pair>,
    ids: BufWriter<File>,
    pairs: PairWriter,
    sketches: Option<SketchWriter>,
    read: u64,
    /// Pairs that were dropped for each of the account's reasons.
    dropped: Vec<u64>,
    account: SketchedPart,
}

impl<'a> PartWriter<'a> {
    /// A part whose files come into a folder.
    pub fn create(config: &'a PrepareConfig, folder: &Path) -> Result<Self> {
        let ids = folder.join(PartFile::Ids.as_str());
        let near = config.dedupe.near;
        Ok(Self {
            config,
            waiting: Chunks::new(CHUNK),
            ids: BufWriter::new(File::create(&ids).map_err(Error::io("create", &ids))?),
            pairs: PairWriter::create(&folder.join(PartFile::Pairs.as_str()))?,
            sketches: (near > 0.0).then(|| SketchWriter::create(&folder.join("sketches"), near)).transpose()?,
            read: 0,
            dropped: Vec::new(),
            account: SketchedPart::default(),
            folder: folder.to_owned(),
        })
    }

    /// Takes the next pair.
    pub fn push(&mut self, pair: Pair) -> Result<()> {
        self.waiting.push(pair).map_or(Ok(()), |chunk| self.pass(chunk))
    }

    /// Ends a file, or rows of it, with its account.
    pub fn end(&mut self, count: PartCount) {
        self.account.parts.push(count);
    }

    fn pass(&mut self, pairs: Vec<Pair>) -> Result<()> {
        let filter = &self.config.filter;
        let reasons: Vec<Option<&'static str>> = pairs.par_iter().map(|pair| filter.reason(pair)).collect();
        let mut kept = Vec::with_capacity(pairs.len());
        for (pair, reason) in pairs.into_iter().zip(reasons) {
            let number = reason.map(|reason| self.count(reason, &pair));
            let path = || self.folder.join(PartFile::Ids.as_str());
            let line = serde_json::to_vec(&(&pair.id, number)).map_err(|error| Error::json(path(), &error))?;
            self.ids.write_all(&line).and_then(|()| self.ids.write_all(b"\n")).map_err(Error::io("write", path()))?;
            self.read += 1;
            if number.is_none() {
                kept.push(pair);
            }
        }
        if let Some(sketches) = &mut self.sketches {
            sketches.push(&kept.iter().map(Pair::document).collect::<Vec<_>>())?;
        }
        self.account.texts += kept.len() as u64;
        kept.into_iter().try_for_each(|pair| self.pairs.push(pair))
    }

    /// The number of a reason for which a pair is dropped.
    fn count(&mut self, reason: &str, pair: &Pair) -> u16 {
        let known = self.account.reasons.iter().position(|known| known == reason);
        let number = known.unwrap_or_else(|| {
            self.account.reasons.push(reason.to_owned());
            self.dropped.push(0);
            self.dropped.len() - 1
        });
        self.dropped[number] += 1;
        if self.dropped[number] <= EXAMPLES {
            self.account.examples.insert(self.read, pair.anchor.clone());
        }
        number as u16
    }

    /// The account, and the files that there are.
    pub fn finish(mut self) -> Result<(SketchedPart, Vec<PartFile>)> {
        let rest = self.waiting.rest();
        self.pass(rest)?;
        self.ids.flush().map_err(Error::io("write", self.folder.join(PartFile::Ids.as_str())))?;
        self.pairs.finish()?;
        let mut files = vec![PartFile::Ids, PartFile::Pairs];
        if let Some(sketches) = self.sketches {
            let sketched = sketches.finish()?;
            self.account.keys = SlicedFile::of(&sketched.keys, &self.folder.join(PartFile::Keys.as_str()))?.slices;
            let shingles = self.folder.join(PartFile::Shingles.as_str());
            atomic::rename(&sketched.shingles, &shingles)?;
            let lengths = self.folder.join(PartFile::Lengths.as_str());
            let bytes: Vec<u8> = sketched.lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
            std::fs::write(&lengths, bytes).map_err(Error::io("write", &lengths))?;
            files.extend([PartFile::Keys, PartFile::Shingles, PartFile::Lengths]);
        }
        Ok((self.account, files))
    }
}
