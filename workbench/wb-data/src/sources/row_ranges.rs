//! Some rows of a Parquet file that lies anywhere: what stands elsewhere in it is not read.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Read},
    ops::Range,
    path::Path,
    sync::Arc,
};

use ::parquet::{
    errors::{ParquetError, Result as ParquetResult},
    file::reader::{ChunkReader, Length},
};
use bytes::Bytes;
use wb_core::{Progress, RangeReader};

use super::{
    files::Item,
    parquet,
    record::Mapped,
    texts::{TextFields, TextRecord},
};
use crate::{Error, Result};

/// Bytes that are read at once where the length is not known: heads of pages.
const AHEAD: u64 = 64 << 10;

/// A Parquet file by its name and whoever has its bytes.
#[derive(Clone)]
pub struct RowRanges {
    name: Arc<Path>,
    bytes: Arc<dyn RangeReader>,
}

impl RowRanges {
    /// The file by a name for messages, from which ids are made where the rows have none.
    pub fn new(name: &str, bytes: Arc<dyn RangeReader>) -> Self {
        Self { name: Arc::from(Path::new(name)), bytes }
    }

    /// The number of rows.
    ///
    /// # Errors
    ///
    /// If it is no whole Parquet file.
    pub fn rows(&self) -> Result<u64> {
        parquet::rows_of(&self.name, Pieces(Arc::clone(&self.bytes)))
    }

    /// Gives the texts of some rows to `take`, in order, named as [`super::texts::each_text`] names those of the file.
    ///
    /// # Errors
    ///
    /// If the bytes cannot be had, are no Parquet file, or a row has no text.
    pub fn each_text(
        &self,
        rows: Range<u64>,
        fields: &TextFields,
        take: &mut dyn FnMut(TextRecord) -> Result<()>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let only = BTreeMap::new();
        let stem = self.name.to_string_lossy();
        let mut sink = |item: Item<'_>| match item {
            Item::Blank(_) => Ok(()),
            Item::Bad(error) => Err(error),
            Item::Record(record) => match fields.pick(&record, &only, &stem)? {
                Mapped::To(text) => take(*text),
                Mapped::LeftOut(reason) => Err(Error::at(
                    &self.name,
                    format!("row {}", record.place.line),
                    format!("{reason}, expected a text"),
                )),
            },
        };
        let pieces = Pieces(Arc::clone(&self.bytes));
        parquet::records_of(&self.name, (pieces, Some(rows)), &fields.roots(&only), &mut sink, progress)
    }
}

/// The bytes, as the Parquet reader asks for them.
pub(super) struct Pieces(pub(super) Arc<dyn RangeReader>);

impl Length for Pieces {
    fn len(&self) -> u64 {
        self.0.size()
    }
}

impl ChunkReader for Pieces {
    type T = FromHere;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(FromHere { bytes: Arc::clone(&self.0), at: start, ahead: Cursor::default() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.0.size());
        let end = end.ok_or_else(|| ParquetError::EOF(format!("{length} bytes from {start} on are not there")))?;
        self.0.read(start..end).map(Bytes::from).map_err(|error| ParquetError::External(Box::new(error)))
    }
}

/// The bytes from a place on.
pub(super) struct FromHere {
    bytes: Arc<dyn RangeReader>,
    at: u64,
    ahead: Cursor<Vec<u8>>,
}

impl Read for FromHere {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ahead.position() == self.ahead.get_ref().len() as u64 {
            let end = (self.at + AHEAD).min(self.bytes.size());
            let read = self.bytes.read(self.at.min(end)..end).map_err(io::Error::other)?;
            self.at = end;
            self.ahead = Cursor::new(read);
        }
        self.ahead.read(into)
    }
}
