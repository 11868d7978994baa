//! The beginning of a GGUF file: its metadata, which describes the model.
//!
//! The file comes from anywhere, so nothing in it is believed before it is checked: every length against the bytes
//! that are left, every count against a bound. Reading takes time and memory in proportion to the bytes of the header,
//! and no header may be longer than `MAX_HEADER`.
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>, versions 2 and 3, little endian.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::Path,
};

/// Bytes of a header at most. The largest vocabularies in use, with their merges, take about 16 MiB.
const MAX_HEADER: u64 = 256 << 20;
/// Elements of an array at most.
const MAX_ELEMENTS: u64 = 1 << 22;
/// Metadata entries at most, and tensors at most.
const MAX_ENTRIES: u64 = 1 << 16;
/// Bytes of a key and of a tensor's name at most.
pub(crate) const MAX_KEY: u64 = 1 << 10;
/// Bytes of a string at most.
const MAX_STRING: u64 = 16 << 20;

/// Keys and values.
pub type Metadata = BTreeMap<String, GgufValue>;

/// A value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub enum GgufValue {
    /// An integer of any width.
    Integer(i128),
    /// A number with a point.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// Several numbers with a point.
    Floats(Vec<f32>),
    /// Several integers.
    Integers(Vec<i64>),
    /// Several yes or no.
    Bools(Vec<bool>),
}

impl GgufValue {
    /// Names its kind, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Bool(_) => "a boolean",
            Self::Text(_) => "a text",
            Self::Texts(_) => "an array of texts",
            Self::Floats(_) => "an array of floats",
            Self::Integers(_) => "an array of integers",
            Self::Bools(_) => "an array of booleans",
        }
    }
}

/// A result whose error says at which byte what was found and what was expected.
pub(crate) type Bounds<T> = Result<T, String>;

/// A reader that knows where it is and where the header has to end.
pub(crate) struct Cursor<'a, R> {
    reader: &'a mut R,
    /// Bytes read so far.
    pub at: u64,
    end: u64,
}

impl<R: Read> Cursor<'_, R> {
    /// Fails before anything is allocated where fewer than `n` bytes are left.
    fn need(&self, n: u64, what: &str) -> Bounds<()> {
        let left = self.end - self.at;
        if n > left {
            return Err(format!("byte {}: {what} needs {n} bytes, but the header has {left} left", self.at));
        }
        Ok(())
    }

    fn bytes(&mut self, n: u64, what: &str) -> Bounds<Vec<u8>> {
        self.need(n, what)?;
        let mut out = vec![0; n as usize];
        self.reader.read_exact(&mut out).map_err(|e| format!("byte {}: {what} cannot be read: {e}", self.at))?;
        self.at += n;
        Ok(out)
    }

    fn fixed<const N: usize>(&mut self, what: &str) -> Bounds<[u8; N]> {
        self.need(N as u64, what)?;
        let mut out = [0; N];
        self.reader.read_exact(&mut out).map_err(|e| format!("byte {}: {what} cannot be read: {e}", self.at))?;
        self.at += N as u64;
        Ok(out)
    }

    pub fn u32(&mut self, what: &str) -> Bounds<u32> {
        self.fixed(what).map(u32::from_le_bytes)
    }

    pub fn u64(&mut self, what: &str) -> Bounds<u64> {
        self.fixed(what).map(u64::from_le_bytes)
    }

    pub fn text(&mut self, max: u64, what: &str) -> Bounds<String> {
        let at = self.at;
        let n = self.u64(what)?;
        if n > max {
            return Err(format!("byte {at}: {what} of {n} bytes, at most {max} were expected"));
        }
        String::from_utf8(self.bytes(n, what)?).map_err(|_| format!("byte {at}: {what} is not UTF-8"))
    }

    fn scalar(&mut self, kind: u32, key: &str) -> Bounds<GgufValue> {
        Ok(match kind {
            0 => GgufValue::Integer(self.fixed::<1>(key)?[0].into()),
            1 => GgufValue::Integer(i8::from_le_bytes(self.fixed(key)?).into()),
            2 => GgufValue::Integer(u16::from_le_bytes(self.fixed(key)?).into()),
            3 => GgufValue::Integer(i16::from_le_bytes(self.fixed(key)?).into()),
            4 => GgufValue::Integer(u32::from_le_bytes(self.fixed(key)?).into()),
            5 => GgufValue::Integer(i32::from_le_bytes(self.fixed(key)?).into()),
            6 => GgufValue::Float(f32::from_le_bytes(self.fixed(key)?).into()),
            7 => match self.fixed::<1>(key)?[0] {
                0 => GgufValue::Bool(false),
                1 => GgufValue::Bool(true),
                other => {
                    return Err(format!("byte {}: {key} is a boolean of {other}, 0 or 1 was expected", self.at - 1));
                }
            },
            8 => GgufValue::Text(self.text(MAX_STRING, key)?),
            10 => GgufValue::Integer(u64::from_le_bytes(self.fixed(key)?).into()),
            11 => GgufValue::Integer(i64::from_le_bytes(self.fixed(key)?).into()),
            12 => GgufValue::Float(f64::from_le_bytes(self.fixed(key)?)),
            other => return Err(format!("byte {}: {key} is of kind {other}, which the format does not know", self.at)),
        })
    }

    fn value(&mut self, key: &str) -> Bounds<GgufValue> {
        let kind = self.u32(key)?;
        if kind != 9 {
            return self.scalar(kind, key);
        }
        let at = self.at;
        let kind = self.u32(key)?;
        let count = self.u64(key)?;
        let least = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            9 => return Err(format!("byte {at}: {key} is an array of arrays, which no model needs")),
            other => {
                return Err(format!("byte {at}: {key} is an array of kind {other}, which the format does not know"));
            }
        };
        if count > MAX_ELEMENTS {
            return Err(format!("byte {at}: {key} has {count} elements, at most {MAX_ELEMENTS} were expected"));
        }
        self.need(count * least, key)?;
        let wrong = || format!("byte {at}: {key} has an integer beyond 63 bits");
        Ok(match kind {
            6 | 12 => GgufValue::Floats(
                (0..count)
                    .map(|_| self.scalar(kind, key).map(|v| if let GgufValue::Float(v) = v { v as f32 } else { 0.0 }))
                    .collect::<Bounds<_>>()?,
            ),
            7 => GgufValue::Bools(
                (0..count)
                    .map(|_| self.scalar(kind, key).map(|v| v == GgufValue::Bool(true)))
                    .collect::<Bounds<_>>()?,
            ),
            8 => GgufValue::Texts((0..count).map(|_| self.text(MAX_STRING, key)).collect::<Bounds<_>>()?),
            _ => GgufValue::Integers(
                (0..count)
                    .map(|_| match self.scalar(kind, key)? {
                        GgufValue::Integer(v) => i64::try_from(v).map_err(|_| wrong()),
                        _ => Err(wrong()),
                    })
                    .collect::<Bounds<_>>()?,
            ),
        })
    }
}

/// Reads all that stands before the tensors' names: where that ends, what is said of the model, how many tensors are
/// announced, and the bytes of the whole file.
pub(crate) fn begin<R: Read + Seek>(reader: &mut R) -> Bounds<(Cursor<'_, R>, Metadata, u64, u64)> {
    let length = reader.seek(SeekFrom::End(0)).map_err(|e| format!("the length cannot be told: {e}"))?;
    reader.seek(SeekFrom::Start(0)).map_err(|e| format!("the beginning cannot be found: {e}"))?;
    let mut cursor = Cursor { reader, at: 0, end: length.min(MAX_HEADER) };
    let magic: [u8; 4] = cursor.fixed("the magic number")?;
    if &magic != b"GGUF" {
        return Err(format!(
            "byte 0: {:?} was found, a GGUF file begins with \"GGUF\"",
            String::from_utf8_lossy(&magic)
        ));
    }
    let version = cursor.u32("the version")?;
    if !(2..=3).contains(&version) {
        return Err(format!("byte 4: version {version}, versions 2 and 3 (little endian) are known"));
    }
    let tensors = cursor.u64("the number of tensors")?;
    let pairs = cursor.u64("the number of metadata entries")?;
    for (what, n) in [("tensors", tensors), ("metadata entries", pairs)] {
        if n > MAX_ENTRIES {
            return Err(format!("byte 8: {n} {what}, at most {MAX_ENTRIES} were expected"));
        }
    }
    // The least that an entry takes: an empty key, its kind and a byte; an empty name, no dimension, kind and offset.
    cursor.need(pairs * 13 + tensors * 24, "what the header announces")?;
    let mut metadata = Metadata::new();
    for _ in 0..pairs {
        let at = cursor.at;
        let key = cursor.text(MAX_KEY, "a key")?;
        let value = cursor.value(&key)?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(format!("byte {at}: {key} stands twice"));
        }
    }
    Ok((cursor, metadata, tensors, length))
}

/// Reads what a file says of its model, whatever form its tensors have: a server may run forms that are not known here.
pub fn metadata(path: &Path) -> Result<Metadata, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    begin(&mut BufReader::with_capacity(1 << 16, file)).map(|(_, metadata, _, _)| metadata)
}
