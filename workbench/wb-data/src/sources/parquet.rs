//! Records as rows of Parquet files.

use std::{
    fs::File,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;
use parquet::{
    arrow::{ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder},
    errors::ParquetError,
    file::reader::ChunkReader,
};
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
    let file = File::open(path).map_err(Error::io("read", &**path))?;
    records_of(path, (file, None), roots, sink, progress)
}

/// Gives the rows of a file, or some of them, to `sink`; numbered as they are in the file.
pub(super) fn records_of<R: ChunkReader + 'static>(
    path: &Arc<Path>,
    (file, rows): (R, Option<Range<u64>>),
    roots: &[String],
    sink: &mut Sink<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let mut row = rows.as_ref().map_or(0, |rows| rows.start as usize);
    batches_of(path, (file, rows), |name| roots.iter().any(|root| root == name), &mut |batch, total| {
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
    batches_of(path, (file, None), wanted, take)
}

/// Gives batches of all rows, or of some of them, to `take`.
fn batches_of<R: ChunkReader + 'static>(
    path: &Path,
    (file, rows): (R, Option<Range<u64>>),
    wanted: impl Fn(&str) -> bool,
    take: &mut dyn FnMut(&RecordBatch, u64) -> Result<()>,
) -> Result<()> {
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
        let builder = match rows {
            Some(rows) => within(builder, rows),
            None => builder,
        };
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

/// Narrows a reader to rows; groups of rows without any of them are not read.
fn within<R: ChunkReader + 'static>(
    builder: ParquetRecordBatchReaderBuilder<R>,
    rows: Range<u64>,
) -> ParquetRecordBatchReaderBuilder<R> {
    let (mut groups, mut before, mut begin) = (Vec::new(), 0, 0);
    for (at, group) in builder.metadata().row_groups().iter().enumerate() {
        let end = begin + u64::try_from(group.num_rows()).unwrap_or_default();
        if begin < rows.end && rows.start < end {
            if groups.is_empty() {
                before = rows.start.saturating_sub(begin);
            }
            groups.push(at);
        }
        begin = end;
    }
    let (offset, limit) = (before as usize, rows.end.saturating_sub(rows.start) as usize);
    builder.with_row_groups(groups).with_offset(offset).with_limit(limit)
}

/// The number of a file's rows.
pub(super) fn rows_of<R: ChunkReader + 'static>(path: &Path, file: R) -> Result<u64> {
    guard(path, || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| corrupt(path, error))?;
        Ok(u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default())
    })
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
    // Whoever hands out the bytes has own words for those that it cannot have.
    let cause = match cause.into().downcast::<ParquetError>() {
        Ok(cause) => match *cause {
            ParquetError::External(cause) => {
                let cause = match cause.downcast::<std::io::Error>() {
                    Ok(cause) => cause.into_inner().unwrap_or_else(|| "cannot be read".into()),
                    Err(cause) => cause,
                };
                match cause.downcast::<Error>() {
                    Ok(own) => return *own,
                    Err(cause) => cause,
                }
            }
            cause => cause.into(),
        },
        Err(cause) => cause,
    };
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
        DataType::Dictionary(..) => {
            let words = array.as_any_dictionary();
            let key = value(words.keys(), at)?.as_u64().and_then(|key| usize::try_from(key).ok());
            let known = key.filter(|key| *key < words.values().len());
            value(&**words.values(), known.ok_or("has a key that its dictionary lacks")?)?
        }
        DataType::Int8 => number::<Int8Type>(array, at).into(),
        DataType::Int16 => number::<Int16Type>(array, at).into(),
        DataType::Int32 => number::<Int32Type>(array, at).into(),
        DataType::Int64 => number::<Int64Type>(array, at).into(),
        DataType::UInt8 => number::<UInt8Type>(array, at).into(),
        DataType::UInt16 => number::<UInt16Type>(array, at).into(),
        DataType::UInt32 => number::<UInt32Type>(array, at).into(),
        DataType::UInt64 => number::<UInt64Type>(array, at).into(),
        DataType::Float16 => f64::from(number::<Float16Type>(array, at)).into(),
        DataType::Float32 => f64::from(number::<Float32Type>(array, at)).into(),
        DataType::Float64 => number::<Float64Type>(array, at).into(),
        kind => return Err(format!("holds {kind}")),
    })
}

fn list(items: &dyn Array) -> std::result::Result<Value, String> {
    (0..items.len()).map(|at| value(items, at)).collect::<std::result::Result<Vec<_>, _>>().map(Value::Array)
}

fn number<T: ArrowPrimitiveType>(array: &dyn Array, at: usize) -> T::Native {
    array.as_primitive::<T>().value(at)
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        ArrayRef, DictionaryArray, Float16Array, Float32Array, Int8Array, Int16Array, Int32Array, Int64Array,
        Time32SecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array, types::UInt8Type,
    };
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_of_every_width_are_exact() {
        let half = |x: f32| <Float16Type as ArrowPrimitiveType>::Native::from_f32(x);
        let rows: [(ArrayRef, Value); 11] = [
            (Arc::new(Int8Array::from(vec![i8::MIN])), json!(-128)),
            (Arc::new(Int16Array::from(vec![i16::MIN])), json!(-32_768)),
            (Arc::new(Int32Array::from(vec![i32::MIN])), json!(i32::MIN)),
            (Arc::new(Int64Array::from(vec![i64::MIN])), json!(i64::MIN)),
            (Arc::new(UInt8Array::from(vec![u8::MAX])), json!(255)),
            (Arc::new(UInt16Array::from(vec![u16::MAX])), json!(65_535)),
            (Arc::new(UInt32Array::from(vec![u32::MAX])), json!(u32::MAX)),
            (Arc::new(UInt64Array::from(vec![u64::MAX])), json!(u64::MAX)),
            (Arc::new(Float16Array::from(vec![half(-0.5)])), json!(-0.5)),
            (Arc::new(Float32Array::from(vec![0.1])), json!(f64::from(0.1_f32))),
            (Arc::new(Int8Array::from(vec![None::<i8>])), Value::Null),
        ];
        for (array, expected) in rows {
            assert_eq!(value(&*array, 0).unwrap(), expected, "{}", array.data_type());
        }
        assert_eq!(value(&Time32SecondArray::from(vec![1]), 0).unwrap_err(), "holds Time32(s)");
    }

    #[test]
    fn words_of_a_dictionary_are_looked_up() {
        let words: DictionaryArray<UInt8Type> = [Some("go"), None, Some("ruby"), Some("go")].into_iter().collect();
        let read: Vec<Value> = (0..4).map(|at| value(&words, at).unwrap()).collect();
        assert_eq!(read, [json!("go"), Value::Null, json!("ruby"), json!("go")]);
    }
}
