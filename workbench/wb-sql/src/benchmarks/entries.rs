//! Objects of a JSON array, or of JSON lines, each with the line on which it begins.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use wb_core::{Error, error::json_message};

use super::files;
use crate::Result;

/// An object and its place.
pub struct JsonEntry<T> {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Content of the entry.
    pub value: T,
}

/// Reads them all; `what` says what the file should be.
///
/// # Errors
///
/// With file, line and column.
pub fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<Vec<JsonEntry<T>>> {
    let text = files::read(path, what)?;
    let mut reader = Reader { path, what, text: &text, at: 0, counted: 0, lines: 1 };
    let array = reader.skips('[');
    let mut entries = Vec::new();
    while !reader.ends(array)? {
        if array && !entries.is_empty() && !reader.skips(',') {
            return Err(reader.error(0, 0, "expected `,` or `]` behind an entry"));
        }
        entries.push(reader.entry()?);
    }
    Ok(entries)
}

/// [`read`] without the lines.
///
/// # Errors
///
/// Those of [`read`].
pub fn values<T: DeserializeOwned>(path: &Path, what: &str) -> Result<Vec<T>> {
    Ok(read(path, what)?.into_iter().map(|entry| entry.value).collect())
}

/// Entries out of rows that somebody else read from a file.
///
/// # Errors
///
/// With file and row, counted from 1.
pub fn of_rows<T: DeserializeOwned>(path: &Path, rows: &[Json], what: &str) -> Result<Vec<T>> {
    let typed = |(row, at): (&Json, usize)| {
        let place = || format!("{}: row {at}", path.display());
        <T as serde::Deserialize>::deserialize(row)
            .map_err(|error| Error::data(place(), error.to_string()).with_hint(what))
    };
    rows.iter().zip(1..).map(typed).collect()
}

/// Reads the members of an object, in the order of the file; a key can be there several times.
///
/// # Errors
///
/// With file, line and column.
pub fn members<T: DeserializeOwned>(path: &Path, what: &str) -> Result<Vec<JsonEntry<(String, T)>>> {
    let text = files::read(path, what)?;
    let mut reader = Reader { path, what, text: &text, at: 0, counted: 0, lines: 1 };
    if !reader.skips('{') {
        return Err(reader.error(0, 0, "expected an object, `{`"));
    }
    let mut members = Vec::new();
    while !reader.skips('}') {
        if !members.is_empty() && !reader.skips(',') {
            return Err(reader.error(0, 0, "expected `,` or `}` behind a member"));
        }
        let JsonEntry { line, value: key } = reader.entry::<String>()?;
        if !reader.skips(':') {
            return Err(reader.error(0, 0, "expected `:` behind a key"));
        }
        members.push(JsonEntry { line, value: (key, reader.entry::<T>()?.value) });
    }
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.error(0, 0, "expected nothing behind the object"));
    }
    Ok(members)
}

struct Reader<'a> {
    path: &'a Path,
    what: &'a str,
    text: &'a str,
    at: usize,
    /// Place where the present entry begins, and its line.
    counted: usize,
    lines: usize,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Goes past a character, if it comes next.
    fn skips(&mut self, wanted: char) -> bool {
        self.skip_space();
        let there = self.text[self.at..].starts_with(wanted);
        self.at += if there { wanted.len_utf8() } else { 0 };
        there
    }

    /// True where all entries are read.
    fn ends(&mut self, array: bool) -> Result<bool> {
        let ended = array && self.skips(']');
        self.skip_space();
        let nothing_left = self.at == self.text.len();
        match (array, ended, nothing_left) {
            (true, true, false) => Err(self.error(0, 0, "expected nothing behind the array")),
            (true, false, true) => Err(self.error(0, 0, "the array is not closed")),
            _ => Ok(nothing_left),
        }
    }

    fn entry<T: DeserializeOwned>(&mut self) -> Result<JsonEntry<T>> {
        self.skip_space();
        let line = self.line();
        // From here on: a file of a hundred thousand entries is gone through once.
        (self.counted, self.lines) = (self.at, line);
        let mut stream = serde_json::Deserializer::from_str(&self.text[self.at..]).into_iter();
        match stream.next() {
            Some(Ok(value)) => {
                self.at += stream.byte_offset();
                Ok(JsonEntry { line, value })
            }
            Some(Err(error)) => Err(self.error(error.line().saturating_sub(1), error.column(), &json_message(&error))),
            None => Err(self.error(0, 0, "the file ends too soon")),
        }
    }

    /// The line of the present place.
    fn line(&self) -> usize {
        self.lines + self.text[self.counted..self.at].matches('\n').count()
    }

    /// An error so many lines below the present place.
    fn error(&self, below: usize, column: usize, message: &str) -> Error {
        let before = &self.text[..self.at];
        let own = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        Error::Parse {
            path: self.path.to_owned(),
            line: self.line() + below,
            column: if below == 0 { own + column.max(1) } else { column },
            at: String::new(),
            message: message.to_owned(),
            hint: Some(self.what.to_owned()),
        }
    }
}
