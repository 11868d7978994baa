//! A file of slices that are read one by one, each known by its hash.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    ops::Range,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};

/// A slice of a file, which begins where the one before it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Place of its end.
    pub end: u64,
    /// First 16 digits of its BLAKE3.
    pub blake3: String,
}

/// A file on this machine that has slices.
#[derive(Debug)]
pub struct SlicedFile {
    /// The file.
    pub path: PathBuf,
    /// The slices, in order.
    pub slices: Vec<Slice>,
}

impl SlicedFile {
    /// Puts files together, a slice each, and takes them away.
    pub(super) fn of(files: &[PathBuf], path: &Path) -> Result<Self> {
        let mut to = BufWriter::new(File::create(path).map_err(Error::io("create", path))?);
        let (mut slices, mut end) = (Vec::with_capacity(files.len()), 0);
        for file in files {
            let bytes = fs::read(file).map_err(Error::io("read", file))?;
            to.write_all(&bytes).map_err(Error::io("write", path))?;
            end += bytes.len() as u64;
            slices.push(Slice { end, blake3: digits(&bytes) });
            fs::remove_file(file).map_err(Error::io("remove", file))?;
        }
        to.flush().map_err(Error::io("write", path))?;
        Ok(Self { path: path.to_owned(), slices })
    }
}

fn digits(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}

/// Some slices of a file, whose bytes `read` gives by their range; `name` is the file's, for messages.
///
/// # Errors
///
/// If there are fewer slices, or bytes are not those that were written.
pub fn slices(
    all: &[Slice],
    which: Range<usize>,
    name: &str,
    read: impl FnOnce(Range<u64>) -> Result<Vec<u8>>,
) -> Result<Vec<Vec<u8>>> {
    if which.end > all.len() {
        return Err(Error::data(name, format!("has {} slices, expected at least {}", all.len(), which.end)));
    }
    let begin_of = |at: usize| at.checked_sub(1).map_or(0, |before| all[before].end);
    let begin = begin_of(which.start);
    let bytes = read(begin..begin_of(which.end))?;
    let slice = |at: usize| {
        let slice = bytes.get((begin_of(at) - begin) as usize..(all[at].end - begin) as usize);
        match slice.filter(|slice| digits(slice) == all[at].blake3) {
            Some(slice) => Ok(slice.to_vec()),
            None => Err(Error::data(name, format!("slice {at} is not what was written: its BLAKE3 is another"))),
        }
    };
    which.map(slice).collect()
}
