//! Bytes that are read by ranges, wherever they lie.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

use crate::{Error, Result};

/// A file, or an object of a store, of which parts are read.
pub trait RangeReader: Send + Sync {
    /// Length in bytes.
    fn size(&self) -> u64;

    /// The bytes of a range, which lies within the length.
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>>;
}

/// A file on this machine.
#[derive(Debug)]
pub struct FileRanges {
    path: PathBuf,
    size: u64,
}

impl FileRanges {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        let size = path.metadata().map_err(Error::io("read", path))?.len();
        Ok(Self { path: path.to_owned(), size })
    }
}

impl RangeReader for FileRanges {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; range.end.saturating_sub(range.start) as usize];
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(range.start))?;
            file.read_exact(&mut bytes)
        });
        read.map_err(Error::io("read", &self.path))?;
        Ok(bytes)
    }
}
