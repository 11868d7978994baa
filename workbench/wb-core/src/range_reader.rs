//! Bytes that are read by ranges, wherever they lie.

use std::{
    fs::File,
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use crate::{Error, Result, remote};

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
    file: File,
    size: u64,
}

impl FileRanges {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        let path = &remote::local(path)?;
        let file = File::open(path).map_err(Error::io("read", path))?;
        let size = file.metadata().map_err(Error::io("read", path))?.len();
        Ok(Self { path: path.to_owned(), file, size })
    }

    #[cfg(unix)]
    fn read_at(&self, from: u64, bytes: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, from)
    }

    /// Elsewhere a place is that of the open file, which threads share, so each reading opens its own.
    #[cfg(not(unix))]
    fn read_at(&self, from: u64, bytes: &mut [u8]) -> io::Result<()> {
        use std::io::{Read as _, Seek as _, SeekFrom};
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(bytes)
    }
}

impl RangeReader for FileRanges {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; range.end.saturating_sub(range.start) as usize];
        self.read_at(range.start, &mut bytes).map_err(Error::io("read", &self.path))?;
        Ok(bytes)
    }
}
