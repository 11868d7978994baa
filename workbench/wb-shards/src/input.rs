//! Inputs of a plan: objects named by their content, with the hashes of their pieces, so that whoever reads a part knows that
//! it is the part that was planned.

use std::{
    collections::VecDeque,
    io::{BufReader, Read, Write},
    ops::Range,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use wb_core::{Error, RangeReader, atomic, remote};

use crate::{Result, Store};

/// Folder of the inputs, which all plans of a place share.
const FOLDER: &str = "inputs";
/// Bytes of a piece.
const PIECE: u64 = 4 << 20;
/// Pieces that a reader keeps: a table is read column by column, each at a place of its own.
const KEPT: usize = 8;

/// A file that a plan's shards read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedInput {
    /// Length in bytes.
    pub bytes: u64,
    /// BLAKE3 of the whole, by which it is named in the store.
    pub blake3: String,
    /// BLAKE3 of each piece of 4 MiB, in order.
    pub pieces: Vec<String>,
}

impl PlannedInput {
    /// Puts a file into a place, unless it is there.
    pub fn of_file(work: &Store, file: &Path) -> Result<Self> {
        let mut from = BufReader::new(remote::open(file)?);
        let (mut whole, mut pieces, mut bytes) = (blake3::Hasher::new(), Vec::new(), 0);
        loop {
            let mut piece = Vec::new();
            let read = from.by_ref().take(PIECE).read_to_end(&mut piece).map_err(Error::io("read", file))?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
            whole.update(&piece);
            pieces.push(blake3::hash(&piece).to_hex().to_string());
        }
        let input = Self { bytes, blake3: whole.finalize().to_hex().to_string(), pieces };
        if work.size(&input.name())? != Some(bytes) {
            work.upload(&input.name(), &remote::local(file)?)?;
        }
        Ok(input)
    }

    /// Its name in the store.
    pub(crate) fn name(&self) -> String {
        format!("{FOLDER}/{}", self.blake3)
    }

    /// A reader of its ranges, out of the place that plans share.
    pub fn reader(&self, work: &Store) -> InputReader {
        InputReader { work: work.clone(), input: self.clone(), kept: Mutex::default() }
    }

    /// Writes the whole into a file.
    pub fn fetch(&self, work: &Store, file: &Path) -> Result<()> {
        let reader = self.reader(work);
        let mut failed = None;
        let written = atomic::write_with(file, |to| {
            for at in 0..self.pieces.len() {
                match reader.piece(at) {
                    Ok(piece) => to.write_all(&piece)?,
                    Err(error) => {
                        failed = Some(error);
                        return Err(std::io::ErrorKind::Other.into());
                    }
                }
            }
            Ok(())
        });
        failed.map_or(written, Err)
    }
}

/// Ranges of an input; each piece is hashed before anything of it is believed.
pub struct InputReader {
    work: Store,
    input: PlannedInput,
    /// Pieces by their numbers, the latest last.
    kept: Mutex<VecDeque<(usize, Arc<Vec<u8>>)>>,
}

impl InputReader {
    /// A piece by its number.
    fn piece(&self, at: usize) -> Result<Arc<Vec<u8>>> {
        let known = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter().find(|(number, _)| *number == at).map(|(_, piece)| Arc::clone(piece))
        };
        if let Some(piece) = known {
            return Ok(piece);
        }
        let name = self.input.name();
        let from = at as u64 * PIECE;
        let piece = self.work.get_range(&name, from..(from + PIECE).min(self.input.bytes))?;
        if blake3::hash(&piece).to_hex().as_str() != self.input.pieces[at] {
            let message =
                format!("bytes {from} to {} are others than those that were planned", from + piece.len() as u64);
            return Err(Error::data(self.work.shown(&name), message).with_hint("take it away, and plan again"));
        }
        let piece = Arc::new(piece);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((at, Arc::clone(&piece)));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(piece)
    }
}

impl RangeReader for InputReader {
    fn size(&self) -> u64 {
        self.input.bytes
    }

    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let (from, to) = (range.start, range.end.min(self.input.bytes));
        let mut bytes = Vec::with_capacity(to.saturating_sub(from) as usize);
        for at in (from / PIECE) as usize..to.div_ceil(PIECE) as usize {
            let piece = self.piece(at)?;
            let begin = at as u64 * PIECE;
            let end = begin + piece.len() as u64;
            bytes.extend_from_slice(&piece[(from.max(begin) - begin) as usize..(to.min(end) - begin) as usize]);
        }
        Ok(bytes)
    }
}
