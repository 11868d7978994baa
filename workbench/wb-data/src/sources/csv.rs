//! Records as rows of CSV files with a header line.

use std::{path::Path, sync::Arc};

use csv::{ByteRecord, ErrorKind, ReaderBuilder};
use serde_json::{Map, Value};
use wb_core::Progress;

use super::{
    files::{Item, Sink},
    jsonl::{BOM, open},
    record::Record,
};
use crate::{Error, RecordPlace, Result};

/// Gives every row to `sink`, in order, as an object of its columns.
pub(crate) fn records(path: &Arc<Path>, sink: &mut Sink<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let bytes = open(path)?.whole(path, progress)?;
    let bytes = bytes.strip_prefix(BOM).unwrap_or(&bytes);
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = match reader.byte_headers() {
        Ok(header) => header.clone(),
        Err(error) => return Err(Error::file(path, "not CSV").with_cause(error)),
    };
    let names: Vec<String> = header
        .iter()
        .map(|name| text(&RecordPlace::line(path, 1), name).map(|name| name.trim().to_owned()))
        .collect::<Result<_>>()?;
    // An odd number of quotes means that the last quoted field has no end, and took the rest of the file.
    let unclosed = bytes.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
    let mut row = ByteRecord::new();
    loop {
        match reader.read_byte_record(&mut row) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => {
                let line = error.position().map_or(1, |position| position.line() as usize);
                return Err(match error.kind() {
                    ErrorKind::Io(_) => Error::file(path, "cannot be read").with_cause(error),
                    _ => Error::record(RecordPlace::line(path, line), "not CSV", format!("not CSV: {error}")),
                });
            }
        }
        let place = RecordPlace::line(path, row.position().map_or(1, |position| position.line() as usize));
        let last = reader.is_done() || reader.position().byte() as usize >= bytes.len();
        sink(match fields(&place, &names, &row, last && unclosed) {
            Ok(fields) => Item::Record(Record { place, fields, raw: &[] }),
            Err(error) => Item::Bad(error),
        })?;
    }
}

fn fields(place: &RecordPlace, names: &[String], row: &ByteRecord, unclosed: bool) -> Result<Map<String, Value>> {
    if unclosed {
        let message = "the file ends inside a quoted field, as if it was cut off or a quote is missing";
        return Err(Error::record(place.clone(), "cut off", message));
    }
    if row.len() != names.len() {
        let message = format!("{} fields, expected {} as in the header", row.len(), names.len());
        return Err(Error::record(place.clone(), "wrong number of fields", message));
    }
    names.iter().zip(row).map(|(name, field)| Ok((name.clone(), text(place, field)?.into()))).collect()
}

fn text(place: &RecordPlace, field: &[u8]) -> Result<String> {
    if field.contains(&0) {
        return Err(Error::record(place.clone(), "NUL", "a NUL byte, expected text"));
    }
    match std::str::from_utf8(field) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let message = format!("a field is not UTF-8 from its byte {} on", error.valid_up_to() + 1);
            Err(Error::record(place.clone(), "bad UTF-8", message))
        }
    }
}
