//! Records as the items of one JSON array.

use std::{path::Path, sync::Arc};

use serde_json::{Deserializer, Value, error::Category};

use super::{
    files::{Item, Sink},
    jsonl::{BOM, not_json},
    record::Record,
};
use crate::{Error, RecordPlace, Result};

/// Gives every item of the array to `sink`, in order, each with the line on which it begins.
///
/// After a syntax error there is no telling where the next item begins, so that one is never skipped.
pub(crate) fn records(path: &Arc<Path>, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let mut cursor = Cursor { path, bytes, at: 0, line: 1, line_start: 0 };
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        cursor.go(at);
        return Err(Error::record(cursor.place(), "NUL", "a NUL byte, expected text"));
    }
    cursor.skip_space();
    cursor.go(cursor.at + 1);
    cursor.skip_space();
    if cursor.next() == Some(b']') {
        return end(cursor);
    }
    loop {
        let place = cursor.place();
        let item = &bytes[cursor.at.min(bytes.len())..];
        let mut values = Deserializer::from_slice(item).into_iter::<Value>();
        match values.next() {
            Some(Ok(Value::Object(fields))) => {
                let raw = &item[..values.byte_offset()];
                cursor.go(cursor.at + raw.len());
                sink(Item::Record(Record { place, fields, raw }))?;
            }
            Some(Ok(_)) => {
                cursor.go(cursor.at + values.byte_offset());
                let message = "expected an object `{...}` with one field for each side";
                sink(Item::Bad(Error::record(place, "wrong type", message)))?;
            }
            Some(Err(error)) => return Err(syntax(place, &error)),
            None => return Err(cut_off(place)),
        }
        cursor.skip_space();
        match cursor.next() {
            Some(b',') => {
                cursor.go(cursor.at + 1);
                cursor.skip_space();
            }
            Some(b']') => return end(cursor),
            None => return Err(cut_off(cursor.place())),
            Some(_) => {
                let message = "not JSON: expected `,` or `]` after an item of the array";
                return Err(Error::record(cursor.place(), "not JSON", message));
            }
        }
    }
}

/// Only white space may follow the array.
fn end(mut cursor: Cursor<'_>) -> Result<()> {
    cursor.go(cursor.at + 1);
    cursor.skip_space();
    match cursor.next() {
        None => Ok(()),
        Some(_) => {
            let message = "text after the array, expected the end of the file";
            Err(Error::record(cursor.place(), "trailing text", message))
        }
    }
}

fn syntax(begin: RecordPlace, error: &serde_json::Error) -> Error {
    let column = if error.line() <= 1 { begin.column + error.column().max(1) - 1 } else { error.column() };
    let line = begin.line + error.line().max(1) - 1;
    let place = RecordPlace { line, ..begin }.at(column);
    match error.classify() {
        Category::Eof => cut_off(place),
        _ => not_json(place, error),
    }
}

fn cut_off(place: RecordPlace) -> Error {
    Error::record(place, "cut off", "the file ends inside the array, as if it was cut off")
        .with_hint("get the file again")
}

/// A position in the file that knows its line.
struct Cursor<'a> {
    path: &'a Arc<Path>,
    bytes: &'a [u8],
    at: usize,
    line: usize,
    line_start: usize,
}

impl Cursor<'_> {
    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn go(&mut self, to: usize) {
        let to = to.min(self.bytes.len());
        for at in self.at..to {
            if self.bytes[at] == b'\n' {
                self.line += 1;
                self.line_start = at + 1;
            }
        }
        self.at = to;
    }

    fn skip_space(&mut self) {
        let rest = &self.bytes[self.at..];
        self.go(self.at + rest.len() - rest.trim_ascii_start().len());
    }

    fn place(&self) -> RecordPlace {
        RecordPlace::line(self.path, self.line).at(self.at - self.line_start + 1)
    }
}
