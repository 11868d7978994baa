//! Texts as a Parquet file: `id` and `text`.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, RecordBatch, StringArray,
    builder::{ArrayBuilder, StringBuilder},
};
use parquet::{arrow::ArrowWriter, errors::ParquetError};

use crate::{
    Error, Result,
    store::{not_written, properties},
};

/// Texts of a row group: whoever reads some of them reads no more than they are in.
const ROW_GROUP: usize = 1 << 16;
/// Bytes of texts after which a row group ends, however few they are.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// Writes a table of texts, named by their places from 0 on. The file is written over, and whole when this returns.
pub fn write_texts(path: &Path, texts: &[&str]) -> Result<()> {
    let mut table = TextTable::create(path)?;
    texts.iter().try_for_each(|text| table.push(text))?;
    table.finish()
}

/// A table of texts that grows, named by their places from 0 on; written over what is there.
pub struct TextTable {
    path: PathBuf,
    writer: ArrowWriter<File>,
    texts: StringBuilder,
    written: usize,
}

impl TextTable {
    /// Begins one.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        let properties = properties().map_err(|error| not_written(path, error))?;
        let empty = StringBuilder::new().finish();
        let writer = batch(0, empty).and_then(|batch| ArrowWriter::try_new(file, batch.schema(), Some(properties)));
        let writer = writer.map_err(|error| not_written(path, error))?;
        Ok(Self { path: path.to_owned(), writer, texts: StringBuilder::new(), written: 0 })
    }

    /// Adds a text.
    pub fn push(&mut self, text: &str) -> Result<()> {
        self.texts.append_value(text);
        if self.texts.len() == ROW_GROUP || self.texts.values_slice().len() >= ROW_GROUP_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.written + self.texts.len()
    }

    /// True while it has no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn flush(&mut self) -> Result<()> {
        let texts = self.texts.finish();
        let (first, n) = (self.written, texts.len());
        let written = batch(first, texts).and_then(|batch| {
            self.writer.write(&batch)?;
            self.writer.flush()
        });
        self.written += n;
        written.map_err(|error| not_written(&self.path, error))
    }

    /// Has the table whole on the disk.
    pub fn finish(mut self) -> Result<()> {
        if !self.texts.is_empty() {
            self.flush()?;
        }
        let file = self.writer.into_inner().map_err(|error| not_written(&self.path, error))?;
        file.sync_all().map_err(Error::io("write", &self.path))
    }
}

fn batch(first: usize, texts: StringArray) -> std::result::Result<RecordBatch, ParquetError> {
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values((first..first + texts.len()).map(|at| at.to_string())));
    Ok(RecordBatch::try_from_iter([("id", ids), ("text", Arc::new(texts))])?)
}
