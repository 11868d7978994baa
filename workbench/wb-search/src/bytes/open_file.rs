//! A file that is open: it stays what it is, whatever is put in its place.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use wb_retrieval::{MappedBytes, map_file};

use crate::{Error, Result};

/// A file that is mapped, and open to be read in order, too; or bytes that are in no file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    file: Option<Mutex<File>>,
    bytes: MappedBytes,
}

impl OpenFile {
    /// Opens a file that whoever writes it replaces whole.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = map_file(path)?;
        let file = Some(Mutex::new(File::open(path).map_err(Error::io("read", path))?));
        Ok(Self { path: path.to_owned(), file, bytes })
    }

    /// Bytes that are of a file, or would be.
    pub fn of_bytes(path: &Path, bytes: MappedBytes) -> Self {
        Self { path: path.to_owned(), file: None, bytes }
    }

    /// True for bytes that were not read from a file.
    pub fn is_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// An error of what is in it, with its path.
    pub fn told(&self, error: Error) -> Error {
        error.within(format!("cannot use {}", self.path.display()))
    }

    /// Its bytes, mapped.
    pub fn bytes(&self) -> &MappedBytes {
        &self.bytes
    }

    /// Reads so many of its first bytes a piece at a time, so that what no question needs takes no memory.
    pub fn read_first(&self, length: u64, piece: &mut [u8], mut each: impl FnMut(&[u8])) -> Result<()> {
        let Some(file) = &self.file else {
            each(&self.bytes[..self.bytes.len().min(length as usize)]);
            return Ok(());
        };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut read = || -> io::Result<()> {
            file.rewind()?;
            let mut first = Read::by_ref(&mut *file).take(length);
            loop {
                match first.read(piece)? {
                    0 => return Ok(()),
                    n => each(&piece[..n]),
                }
            }
        };
        read().map_err(Error::io("read", &self.path))
    }
}
