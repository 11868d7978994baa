//! The messages between parent and worker: frames of bounded length with a checksum.
//!
//! `length (u32, little endian) | first 8 bytes of the payload's BLAKE3 | payload`. Requests and ends are JSON; values
//! are binary, so that floating-point numbers and bytes arrive as they were.

use std::io::{self, Read};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{CellValue, Error, Result};

/// The longest payload.
pub(super) const MAX_FRAME: usize = 16 << 20;
/// Length and checksum.
pub(super) const HEADER: usize = 12;
/// The longest statement, in bytes.
pub(super) const MAX_SQL: usize = 1_000_000;
/// The longest script of a fresh database, in bytes.
pub(super) const MAX_SCRIPT: usize = 8 << 20;

/// Database that a statement runs on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseSource {
    /// A database file, by its absolute path; it is opened read-only and immutable.
    File(String),
    /// A fresh database in memory, made by these statements; the query itself may only read.
    Script(String),
}

/// First message of the parent to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// Address space beyond what the worker has when it starts.
    pub memory_bytes: u64,
}

/// Answer of a worker to it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub sqlite: String,
}

/// A statement to run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub id: u64,
    pub source: DatabaseSource,
    pub sql: String,
    /// After so many rows it stops and says that there are more.
    pub max_rows: u64,
    /// Behind the row that makes so many values it stops, too, and says so.
    pub enough_cells: u64,
    pub max_bytes: u64,
    /// Values of a result: the parent holds each in more bytes than a NULL has on its way.
    pub max_cells: u64,
    pub timeout_ms: u64,
    /// Rows are read and counted, but not sent.
    pub discard: bool,
}

/// End of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementOutcome {
    /// Result of a statement that ran.
    Done,
    /// SQLite's message about a statement that it cannot run.
    SqlError(String),
    /// The time was over.
    Timeout,
    /// Text that is no query, asks for what is not allowed, or for more memory, rows or bytes than there may be.
    Refused(String),
    /// The statements that make a fresh database failed.
    SetupFailed(String),
}

/// The end of a statement; values come before it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct End {
    pub id: u64,
    pub outcome: StatementOutcome,
    pub width: usize,
    pub rows: u64,
    pub truncated: bool,
    /// From the preparation of the statement to its last row.
    pub nanos: u64,
}

/// A worker's message.
pub(super) enum Reply {
    Cells(Vec<CellValue>),
    End(End),
}

const CELLS: u8 = b'C';
const END: u8 = b'E';

/// A payload with its length and checksum before it.
pub(super) fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    frame.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    frame.extend(&blake3::hash(payload).as_bytes()[..HEADER - 4]);
    frame.extend(payload);
    frame
}

/// The length that a header announces.
pub(super) fn announced(header: &[u8; HEADER]) -> Result<usize> {
    let [a, b, c, d, ..] = *header;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > MAX_FRAME {
        return Err(Error::Protocol(format!("{length} bytes announced, at most {MAX_FRAME} expected")));
    }
    Ok(length)
}

/// True where a payload is the one that its header announced.
pub(super) fn check(header: &[u8; HEADER], payload: &[u8]) -> Result<()> {
    if header[4..] == blake3::hash(payload).as_bytes()[..8] {
        return Ok(());
    }
    Err(Error::Protocol("wrong checksum".to_owned()))
}

/// Reads a frame; `None` at the end of the stream.
pub(super) fn read_frame(from: &mut impl Read) -> Result<Option<Vec<u8>>> {
    let mut head = [0; HEADER];
    match from.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let mut payload = vec![0; announced(&head)?];
    from.read_exact(&mut payload)?;
    check(&head, &payload)?;
    Ok(Some(payload))
}

/// A message as JSON.
pub(super) fn json(message: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(message).map_err(|error| Error::Protocol(error.to_string()))
}

/// A message out of JSON.
pub(super) fn parsed<T: DeserializeOwned>(payload: &[u8]) -> Result<T> {
    serde_json::from_slice(payload).map_err(|error| Error::Protocol(error.to_string()))
}

/// The payload of an end.
pub(super) fn end(end: &End) -> Result<Vec<u8>> {
    let mut payload = vec![END];
    payload.extend(json(end)?);
    Ok(payload)
}

/// A worker's message out of its payload.
pub(super) fn reply(payload: &[u8]) -> Result<Reply> {
    match payload.split_first() {
        Some((&CELLS, cells)) => read_cells(cells).map(Reply::Cells),
        Some((&END, end)) => parsed(end).map(Reply::End),
        _ => Err(Error::Protocol("neither values nor an end".to_owned())),
    }
}

/// A payload of values that is being written.
pub(super) struct Cells(Vec<u8>);

impl Cells {
    pub fn new() -> Cells {
        Cells(vec![CELLS])
    }

    /// Its length by now.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The payload, if it holds anything; the next begins empty.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        (self.0.len() > 1).then(|| std::mem::replace(&mut self.0, vec![CELLS]))
    }

    pub fn null(&mut self) {
        self.0.push(0);
    }

    pub fn int(&mut self, number: i64) {
        self.0.push(1);
        self.0.extend(number.to_le_bytes());
    }

    pub fn real(&mut self, number: f64) {
        self.0.push(2);
        self.0.extend(number.to_bits().to_le_bytes());
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(3, text.as_bytes());
    }

    pub fn blob(&mut self, bytes: &[u8]) {
        self.bytes(4, bytes);
    }

    fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.0.push(tag);
        self.0.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.0.extend(bytes);
    }
}

fn read_cells(mut bytes: &[u8]) -> Result<Vec<CellValue>> {
    let mut cells = Vec::new();
    while let Some((&tag, rest)) = bytes.split_first() {
        bytes = rest;
        cells.push(match tag {
            0 => CellValue::Null,
            1 => CellValue::Int(i64::from_le_bytes(fixed(&mut bytes)?)),
            2 => CellValue::Real(f64::from_bits(u64::from_le_bytes(fixed(&mut bytes)?))),
            3 => {
                CellValue::Text(String::from_utf8(sized(&mut bytes)?).map_err(|_| Error::Protocol("text".to_owned()))?)
            }
            4 => CellValue::Blob(sized(&mut bytes)?),
            _ => return Err(Error::Protocol(format!("a value of kind {tag}"))),
        });
    }
    Ok(cells)
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let Some((head, rest)) = bytes.split_first_chunk() else {
        return Err(Error::Protocol("a value that ends too soon".to_owned()));
    };
    *bytes = rest;
    Ok(*head)
}

fn sized(bytes: &mut &[u8]) -> Result<Vec<u8>> {
    let length = u32::from_le_bytes(fixed(bytes)?) as usize;
    let Some((head, rest)) = bytes.split_at_checked(length) else {
        return Err(Error::Protocol("a value that ends too soon".to_owned()));
    };
    *bytes = rest;
    Ok(head.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_arrive_as_they_were() {
        let mut cells = Cells::new();
        cells.null();
        cells.int(i64::MIN);
        cells.real(-0.0);
        cells.text("a\0ü");
        cells.blob(&[0, 255]);
        let Ok(Reply::Cells(read)) = reply(&cells.take().unwrap()) else { panic!("no cells") };
        let real = CellValue::Real(-0.0);
        let written = [
            CellValue::Null,
            CellValue::Int(i64::MIN),
            real,
            CellValue::Text("a\0ü".into()),
            CellValue::Blob(vec![0, 255]),
        ];
        assert_eq!(read, written);
        assert!(cells.take().is_none());
    }

    #[test]
    fn damaged_frames_are_refused() {
        let frame = frame(b"Ehello");
        assert_eq!(read_frame(&mut frame.as_slice()).unwrap().unwrap(), b"Ehello");
        for at in 0..frame.len() {
            let mut damaged = frame.clone();
            damaged[at] ^= 0x40;
            assert!(!matches!(read_frame(&mut damaged.as_slice()), Ok(Some(_))), "byte {at}");
        }
        assert!(read_frame(&mut [].as_slice()).unwrap().is_none());
    }
}
