//! Conversions on small files of the published schemas, and whole data sets from a server on this machine.

mod annotations;
mod beir;
mod docstrings;
#[cfg(feature = "hub")]
mod get;
mod rows;
mod unzip;

use std::{fs, path::Path, sync::Arc};

use arrow_array::{
    ArrayRef, Int64Array, ListArray, RecordBatch, StringArray,
    builder::{ListBuilder, StringBuilder},
};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use tempfile::TempDir;
use wb_core::progress::silent;

use super::{
    conversions::{Conversion, ConversionCounts, Input, Inputs},
    entry::Entry,
};
use crate::{Error, Result};

/// A Parquet file with these columns.
pub(super) fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A Parquet file with these columns and no row.
pub(super) fn without_rows(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let schema = Arc::new(Schema::new(batch.schema().fields().clone()));
    let mut bytes = Vec::new();
    ArrowWriter::try_new(&mut bytes, schema, None).unwrap().close().unwrap();
    bytes
}

pub(super) fn texts<const N: usize>(values: [&str; N]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

pub(super) fn numbers<const N: usize>(values: [i64; N]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

/// Lists of the words of each text.
pub(super) fn words<const N: usize>(values: [&str; N]) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for value in values {
        value.split_whitespace().for_each(|word| builder.values().append_value(word));
        builder.append(true);
    }
    let lists: ListArray = builder.finish();
    Arc::new(lists)
}

/// The conversion of an entry's first part.
pub(super) fn conversion(entry: &str) -> Conversion {
    entry_of(entry).parts.swap_remove(0).conversion
}

pub(super) fn entry_of(name: &str) -> Entry {
    super::find(&[name.to_owned()], &[]).unwrap().swap_remove(0)
}

/// Converts files of these names and bytes into a folder `out` of a folder that may hold other data sets.
pub(super) fn convert(
    conversion: &Conversion,
    external: &TempDir,
    files: &[(&str, Vec<u8>)],
) -> Result<ConversionCounts> {
    let inputs: Vec<Input> = files
        .iter()
        .enumerate()
        .map(|(at, (name, bytes))| {
            let path = external.path().join(format!(".{at}-{}", name.replace('/', "-")));
            fs::write(&path, bytes).unwrap();
            Input { name: (*name).to_owned(), path }
        })
        .collect();
    let out = external.path().join("out");
    fs::create_dir_all(&out).unwrap();
    let inputs = Inputs { files: &inputs, external: external.path() };
    conversion.member().convert(&inputs, &out, &mut silent)
}

/// The lines of a file, unpacked where it is packed, as JSON.
pub(super) fn lines(path: &Path) -> Vec<Value> {
    use std::io::BufRead;
    let reader = crate::sources::open(path).unwrap().reader;
    reader.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

/// An error with its causes as one text.
pub(super) fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
