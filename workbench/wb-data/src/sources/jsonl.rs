//! Records as JSON lines or as one JSON array, plain or gzipped.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use flate2::read::MultiGzDecoder;
use rayon::prelude::*;
use serde_json::{Map, Value, error::Category};
use wb_core::{Progress, error::json_message};

use super::{
    files::{Item, Sink},
    json_array,
    record::Record,
};
use crate::{Error, RecordPlace, Result};

/// A line longer than this is no record but a file of another kind.
const LONGEST_LINE: u64 = 1 << 28;

/// Lines and bytes that are parsed at once.
const BATCH: (usize, usize) = (4096, 16 << 20);

pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// A file opened for reading, decompressed where its name ends in `.gz`, with the bytes read so far of those on disk.
pub(crate) struct Opened {
    pub(crate) reader: Box<dyn BufRead>,
    pub(crate) done: Arc<AtomicU64>,
    pub(crate) total: u64,
}

pub(crate) fn open(path: &Path) -> Result<Opened> {
    let file = File::open(path).map_err(Error::io("read", path))?;
    let total = file.metadata().map_err(Error::io("read", path))?.len();
    let done = Arc::new(AtomicU64::new(0));
    let counted = Counted { file, done: Arc::clone(&done) };
    let reader: Box<dyn BufRead> = match path.extension().is_some_and(|suffix| suffix == "gz") {
        true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(BufReader::new(counted)))),
        false => Box::new(BufReader::with_capacity(1 << 16, counted)),
    };
    Ok(Opened { reader, done, total })
}

struct Counted {
    file: File,
    done: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.done.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Opened {
    /// Reads what is left of the file.
    pub(crate) fn whole(&mut self, path: &Arc<Path>, progress: &mut dyn FnMut(Progress)) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader.read_to_end(&mut bytes).map_err(|error| {
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
            read_error(path, lines + 1, error)
        })?;
        self.tell(path, progress);
        Ok(bytes)
    }

    pub(crate) fn tell(&self, path: &Path, progress: &mut dyn FnMut(Progress)) {
        let note = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let done = self.done.load(Ordering::Relaxed).min(self.total);
        progress(Progress::new("reading pairs", done as usize, self.total as usize).note(note));
    }
}

/// The error of a failed read: a cut-off gzip file is told as such.
pub(crate) fn read_error(path: &Arc<Path>, line: usize, error: io::Error) -> Error {
    let gzipped = path.extension().is_some_and(|suffix| suffix == "gz");
    let (reason, message) = match error.kind() {
        io::ErrorKind::UnexpectedEof if gzipped => ("cut off", "the compressed file ends early, as if it was cut off"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if gzipped => ("not gzip", "not a gzip stream"),
        _ => return Error::io("read", &**path)(error),
    };
    Error::data(RecordPlace::line(path, line).to_string(), format!("{message} ({reason})"))
        .with_cause(error)
        .with_hint("get the file again")
}

/// Gives every record of a file to `sink`, in order.
pub(crate) fn records(path: &Arc<Path>, sink: &mut Sink<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let mut opened = open(path)?;
    let name = path.to_string_lossy();
    if name.ends_with(".json") || name.ends_with(".json.gz") {
        let start = opened.reader.fill_buf().map_err(|error| read_error(path, 1, error))?;
        let start = start.strip_prefix(BOM).unwrap_or(start);
        if start.trim_ascii_start().first() == Some(&b'[') {
            let bytes = opened.whole(path, progress)?;
            return json_array::records(path, &bytes, sink);
        }
    }
    lines(path, opened, sink, progress)
}

fn lines(path: &Arc<Path>, mut opened: Opened, sink: &mut Sink<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let mut number = 0;
    let mut blank = 0;
    loop {
        let mut batch: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH.0 && bytes < BATCH.1 {
            let mut line = Vec::new();
            let read = (&mut opened.reader).take(LONGEST_LINE).read_until(b'\n', &mut line);
            if read.map_err(|error| read_error(path, number + 1, error))? == 0 {
                break;
            }
            number += 1;
            if line.len() as u64 == LONGEST_LINE {
                let message = format!("line {number} is longer than {LONGEST_LINE} bytes, expected one record a line");
                return Err(Error::file(path, message));
            }
            bytes += line.len();
            batch.push((number, line));
        }
        opened.tell(path, progress);
        if batch.is_empty() {
            return Ok(());
        }
        let parsed: Vec<Option<Result<Map<String, Value>>>> =
            batch.par_iter().map(|(number, line)| parse_line(path, *number, line)).collect();
        for ((number, line), parsed) in batch.iter().zip(parsed) {
            let Some(parsed) = parsed else {
                blank += 1;
                continue;
            };
            if blank > 0 {
                sink(Item::Blank(std::mem::take(&mut blank)))?;
            }
            sink(match parsed {
                Ok(fields) => Item::Record(Record { place: RecordPlace::line(path, *number), fields, raw: line }),
                Err(error) => Item::Bad(error),
            })?;
        }
    }
}

/// The object on a line; nothing where the line is blank.
fn parse_line(path: &Arc<Path>, number: usize, line: &[u8]) -> Option<Result<Map<String, Value>>> {
    let place = RecordPlace::line(path, number);
    let last = !line.ends_with(b"\n");
    let (text, skipped) = match check_line(&place, line) {
        Ok(text) => text,
        Err(error) => return Some(Err(error)),
    };
    if text.trim_ascii().is_empty() {
        return None;
    }
    Some(match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Error::record(place, "wrong type", "expected an object `{...}` with one field for each side")),
        Err(error) => {
            let place = place.at(error.column() + skipped);
            Err(match error.classify() {
                Category::Eof if last => {
                    Error::record(place, "cut off", "the last line ends inside its record, as if the file was cut off")
                        .with_hint("get the file again, or `on_bad: skip` to go on without this line")
                }
                Category::Eof => Error::record(
                    place,
                    "not JSON",
                    "the line ends inside its record, expected one whole object a line",
                ),
                _ => not_json(place, &error),
            })
        }
    })
}

/// A line as text without its end and without a byte-order mark, and how many bytes were taken off its front.
pub(crate) fn check_line<'a>(place: &RecordPlace, line: &'a [u8]) -> Result<(&'a str, usize)> {
    let mut text = line.strip_suffix(b"\n").unwrap_or(line);
    text = text.strip_suffix(b"\r").unwrap_or(text);
    let mut skipped = 0;
    if place.line == 1 {
        if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
            return Err(Error::record(place.clone(), "bad UTF-8", "the file is UTF-16, expected UTF-8"));
        }
        if let Some(rest) = text.strip_prefix(BOM) {
            (text, skipped) = (rest, BOM.len());
        }
    }
    if let Some(at) = text.iter().position(|byte| *byte == 0) {
        return Err(Error::record(place.clone().at(at + skipped + 1), "NUL", "a NUL byte, expected text"));
    }
    match std::str::from_utf8(text) {
        Ok(text) => Ok((text, skipped)),
        Err(error) => {
            let at = error.valid_up_to();
            let message = format!("byte {:#04x} is not UTF-8", text.get(at).copied().unwrap_or_default());
            Err(Error::record(place.clone().at(at + skipped + 1), "bad UTF-8", message))
        }
    }
}

pub(crate) fn not_json(place: RecordPlace, error: &serde_json::Error) -> Error {
    match json_message(error).as_str() {
        "trailing characters" => {
            Error::record(place, "trailing text", "text after the record, expected the end of the line")
        }
        message => Error::record(place, "not JSON", format!("not JSON: {message}")),
    }
}
