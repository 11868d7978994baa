//! Texts as a Parquet file: `id` and `text`.

use std::{fs::File, path::Path, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::{arrow::ArrowWriter, errors::ParquetError};

use crate::{
    Error, Result,
    store::{not_written, properties},
};

/// Texts of a row group: whoever reads some of them reads no more than they are in.
const ROW_GROUP: usize = 1 << 16;

/// Writes a table of texts, named by their places from 0 on. The file is written over, and whole when this returns.
pub fn write_texts(path: &Path, texts: &[&str]) -> Result<()> {
    let file = File::create(path).map_err(Error::io("create", path))?;
    let fill = || -> std::result::Result<File, ParquetError> {
        let mut writer = ArrowWriter::try_new(file, batch(0, &[])?.schema(), Some(properties()?))?;
        for (at, group) in texts.chunks(ROW_GROUP).enumerate() {
            writer.write(&batch(at * ROW_GROUP, group)?)?;
            writer.flush()?;
        }
        writer.into_inner()
    };
    let file = fill().map_err(|error| not_written(path, error))?;
    file.sync_all().map_err(Error::io("write", path))
}

fn batch(first: usize, texts: &[&str]) -> std::result::Result<RecordBatch, ParquetError> {
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values((first..first + texts.len()).map(|at| at.to_string())));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    Ok(RecordBatch::try_from_iter([("id", ids), ("text", texts)])?)
}
