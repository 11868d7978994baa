//! Records as rows of Parquet files.

use std::{
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use arrow::{
    array::{Array, AsArray, RecordBatch},
    compute::cast,
    datatypes::{DataType, Float64Type, Int64Type, UInt64Type},
};
use parquet::arrow::{ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder};
use serde_json::{Map, Value};
use wb_core::Progress;

use super::{
    files::{Item, Sink},
    record::{Record, naming, quoted},
};
use crate::{Error, RecordPlace, Result};

/// Gives every row to `sink`, in order, with those of its columns that are in `roots`.
pub(crate) fn records(
    path: &Arc<Path>,
    roots: &[String],
    sink: &mut Sink<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let mut row = 0;
    batches(path, |name| roots.iter().any(|root| root == name), &mut |batch, total| {
        let names: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
        for at in 0..batch.num_rows() {
            row += 1;
            let place = RecordPlace::row(path, row);
            let fields: std::result::Result<Map<String, Value>, String> = names
                .iter()
                .zip(batch.columns())
                .map(|(name, column)| {
                    Ok((name.clone(), value(column, at).map_err(|what| format!("column `{name}` {what}"))?))
                })
                .collect();
            sink(match fields {
                Ok(fields) => Item::Record(Record { place, fields, raw: &[] }),
                Err(what) => Item::Bad(Error::record(
                    place,
                    "wrong type",
                    format!("{what}, expected text, numbers or lists of text"),
                )),
            })?;
        }
        let note = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        progress(Progress::new("reading pairs", row, total as usize).note(note));
        Ok(())
    })
}

/// Gives the file's batches, with the columns that are wanted and the number of rows in all, to `take`.
pub(crate) fn batches(
    path: &Path,
    wanted: impl Fn(&str) -> bool,
    take: &mut dyn FnMut(&RecordBatch, u64) -> Result<()>,
) -> Result<()> {
    let file = File::open(path).map_err(Error::io("read", path))?;
    let mut reader = guard(path, || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| corrupt(path, error))?;
        let total = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default();
        let root = builder.parquet_schema().root_schema();
        let columns: Vec<usize> = root
            .get_fields()
            .iter()
            .enumerate()
            .filter(|(_, field)| wanted(field.name()))
            .map(|(index, _)| index)
            .collect();
        if columns.is_empty() {
            let names: Vec<&str> = root.get_fields().iter().map(|field| field.name()).collect();
            let message = format!("none of the fields asked for is a column, the file has {}", quoted(&names));
            return Err(Error::file(path, message).with_hint(naming(&names)));
        }
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
        let reader =
            builder.with_projection(mask).with_batch_size(4096).build().map_err(|error| corrupt(path, error))?;
        Ok((reader, total))
    })?;
    let total = reader.1;
    while let Some(batch) = guard(path, || reader.0.next().transpose().map_err(|error| corrupt(path, error)))? {
        take(&batch, total)?;
    }
    Ok(())
}

/// The names of a file's columns.
pub(crate) fn columns(path: &Path) -> Result<Vec<String>> {
    let file = File::open(path).map_err(Error::io("read", path))?;
    guard(path, || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| corrupt(path, error))?;
        let fields = builder.parquet_schema().root_schema().get_fields();
        Ok(fields.iter().map(|field| field.name().to_owned()).collect())
    })
}

/// Runs the decoder; a panic of it on a damaged file (there are such files) becomes an error about the file.
/// Nothing that it leaves behind is used afterwards.
fn guard<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(result) => result,
        Err(panic) => {
            let words = panic.downcast_ref::<String>().cloned();
            let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
            Err(corrupt(path, words.unwrap_or_else(|| "the decoder gave up".into())))
        }
    }
}

fn corrupt(path: &Path, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::file(path, "not a whole Parquet file").with_cause(cause).with_hint("get or write the file again")
}

/// A cell as JSON; what it is instead, where it is neither text, number, truth value, list nor struct of those.
pub(crate) fn value(array: &dyn Array, at: usize) -> std::result::Result<Value, String> {
    if array.is_null(at) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(at).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(at).into(),
        DataType::Utf8View => array.as_string_view().value(at).into(),
        DataType::Null => Value::Null,
        DataType::Boolean => array.as_boolean().value(at).into(),
        DataType::List(_) => list(&*array.as_list::<i32>().value(at))?,
        DataType::LargeList(_) => list(&*array.as_list::<i64>().value(at))?,
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            fields
                .iter()
                .zip(columns)
                .map(|(field, column)| Ok((field.name().clone(), value(column, at)?)))
                .collect::<std::result::Result<Map<_, _>, String>>()?
                .into()
        }
        DataType::Dictionary(_, values) => value(&*one(array, at, values)?, 0)?,
        DataType::UInt64 => one(array, at, &DataType::UInt64)?.as_primitive::<UInt64Type>().value(0).into(),
        kind if kind.is_integer() => one(array, at, &DataType::Int64)?.as_primitive::<Int64Type>().value(0).into(),
        kind if kind.is_floating() => one(array, at, &DataType::Float64)?.as_primitive::<Float64Type>().value(0).into(),
        kind => return Err(format!("holds {kind}")),
    })
}

fn list(items: &dyn Array) -> std::result::Result<Value, String> {
    (0..items.len()).map(|at| value(items, at)).collect::<std::result::Result<Vec<_>, _>>().map(Value::Array)
}

fn one(array: &dyn Array, at: usize, kind: &DataType) -> std::result::Result<Arc<dyn Array>, String> {
    cast(&array.slice(at, 1), kind).map_err(|error| format!("holds {}: {error}", array.data_type()))
}
