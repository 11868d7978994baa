//! The header of a GGUF file: what it says of the model, and where its tensors lie.
//!
//! The file comes from anywhere, so nothing in it is believed before it is checked: every length against the bytes
//! that are left, every count against a bound, every tensor against the end of the file. Reading takes time and memory
//! in proportion to the bytes of the header, and no header may be longer than [`MAX_HEADER`].
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>, versions 2 and 3, little endian.

use std::{
    collections::BTreeMap,
    io::{Read, Seek, SeekFrom},
};

use candle_core::quantized::GgmlDType;

/// Bytes of a header at most. The largest vocabularies in use, with their merges, take about 16 MiB.
pub const MAX_HEADER: u64 = 256 << 20;
/// Elements of an array at most.
const MAX_ELEMENTS: u64 = 1 << 22;
/// Metadata entries at most, and tensors at most.
const MAX_ENTRIES: u64 = 1 << 16;
/// Bytes of a key and of a tensor's name at most.
const MAX_KEY: u64 = 1 << 10;
/// Bytes of a string at most.
const MAX_STRING: u64 = 16 << 20;
/// Dimensions of a tensor at most.
const MAX_DIMENSIONS: u32 = 4;
/// The alignment of tensors at most.
const MAX_ALIGNMENT: u64 = 1 << 20;

/// A value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
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

impl Value {
    /// What it is, for messages.
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

/// Where a tensor lies, and in what form.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Its dimensions, the longest stride first: rows, then columns.
    pub dims: Vec<usize>,
    /// How its numbers are stored.
    pub kind: GgmlDType,
    /// Bytes from the beginning of the tensors.
    pub offset: u64,
}

/// All that stands before the tensors.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Keys and values.
    pub metadata: BTreeMap<String, Value>,
    /// Tensors by name.
    pub tensors: BTreeMap<String, Place>,
    /// Where the tensors begin.
    pub data: u64,
    /// Bytes of the whole file.
    pub length: u64,
}

type Bounds<T> = Result<T, String>;

struct Cursor<'a, R> {
    reader: &'a mut R,
    at: u64,
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

    fn u32(&mut self, what: &str) -> Bounds<u32> {
        self.fixed(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Bounds<u64> {
        self.fixed(what).map(u64::from_le_bytes)
    }

    fn text(&mut self, max: u64, what: &str) -> Bounds<String> {
        let at = self.at;
        let n = self.u64(what)?;
        if n > max {
            return Err(format!("byte {at}: {what} of {n} bytes, at most {max} were expected"));
        }
        String::from_utf8(self.bytes(n, what)?).map_err(|_| format!("byte {at}: {what} is not UTF-8"))
    }

    fn scalar(&mut self, kind: u32, key: &str) -> Bounds<Value> {
        Ok(match kind {
            0 => Value::Integer(self.fixed::<1>(key)?[0].into()),
            1 => Value::Integer(i8::from_le_bytes(self.fixed(key)?).into()),
            2 => Value::Integer(u16::from_le_bytes(self.fixed(key)?).into()),
            3 => Value::Integer(i16::from_le_bytes(self.fixed(key)?).into()),
            4 => Value::Integer(u32::from_le_bytes(self.fixed(key)?).into()),
            5 => Value::Integer(i32::from_le_bytes(self.fixed(key)?).into()),
            6 => Value::Float(f32::from_le_bytes(self.fixed(key)?).into()),
            7 => match self.fixed::<1>(key)?[0] {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                other => {
                    return Err(format!("byte {}: {key} is a boolean of {other}, 0 or 1 was expected", self.at - 1));
                }
            },
            8 => Value::Text(self.text(MAX_STRING, key)?),
            10 => Value::Integer(u64::from_le_bytes(self.fixed(key)?).into()),
            11 => Value::Integer(i64::from_le_bytes(self.fixed(key)?).into()),
            12 => Value::Float(f64::from_le_bytes(self.fixed(key)?)),
            other => return Err(format!("byte {}: {key} is of kind {other}, which the format does not know", self.at)),
        })
    }

    fn value(&mut self, key: &str) -> Bounds<Value> {
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
            6 | 12 => Value::Floats(
                (0..count)
                    .map(|_| self.scalar(kind, key).map(|v| if let Value::Float(v) = v { v as f32 } else { 0.0 }))
                    .collect::<Bounds<_>>()?,
            ),
            7 => Value::Bools(
                (0..count).map(|_| self.scalar(kind, key).map(|v| v == Value::Bool(true))).collect::<Bounds<_>>()?,
            ),
            8 => Value::Texts((0..count).map(|_| self.text(MAX_STRING, key)).collect::<Bounds<_>>()?),
            _ => Value::Integers(
                (0..count)
                    .map(|_| match self.scalar(kind, key)? {
                        Value::Integer(v) => i64::try_from(v).map_err(|_| wrong()),
                        _ => Err(wrong()),
                    })
                    .collect::<Bounds<_>>()?,
            ),
        })
    }
}

/// The forms of tensors that can be multiplied with, by their numbers in the format.
const KINDS: [(u32, GgmlDType); 13] = [
    (0, GgmlDType::F32),
    (1, GgmlDType::F16),
    (2, GgmlDType::Q4_0),
    (3, GgmlDType::Q4_1),
    (6, GgmlDType::Q5_0),
    (7, GgmlDType::Q5_1),
    (8, GgmlDType::Q8_0),
    (10, GgmlDType::Q2K),
    (11, GgmlDType::Q3K),
    (12, GgmlDType::Q4K),
    (13, GgmlDType::Q5K),
    (14, GgmlDType::Q6K),
    (30, GgmlDType::BF16),
];

impl Header {
    /// Reads the header of a GGUF file from its beginning; the error says at which byte what was found and what was expected.
    pub fn read<R: Read + Seek>(reader: &mut R) -> Result<Self, String> {
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
        let count = cursor.u64("the number of tensors")?;
        let pairs = cursor.u64("the number of metadata entries")?;
        for (what, n) in [("tensors", count), ("metadata entries", pairs)] {
            if n > MAX_ENTRIES {
                return Err(format!("byte 8: {n} {what}, at most {MAX_ENTRIES} were expected"));
            }
        }
        // The least that an entry takes: an empty key, its kind and a byte; an empty name, no dimension, kind and offset.
        cursor.need(pairs * 13 + count * 24, "what the header announces")?;
        let mut metadata = BTreeMap::new();
        for _ in 0..pairs {
            let at = cursor.at;
            let key = cursor.text(MAX_KEY, "a key")?;
            let value = cursor.value(&key)?;
            if metadata.insert(key.clone(), value).is_some() {
                return Err(format!("byte {at}: {key} stands twice"));
            }
        }
        let mut tensors = BTreeMap::new();
        for _ in 0..count {
            let at = cursor.at;
            let (name, place) = place(&mut cursor)?;
            if tensors.insert(name.clone(), place).is_some() {
                return Err(format!("byte {at}: tensor {name} stands twice"));
            }
        }
        let alignment = match metadata.get("general.alignment") {
            None => 32,
            Some(Value::Integer(v)) if (1..=MAX_ALIGNMENT.into()).contains(v) && v.count_ones() == 1 => *v as u64,
            Some(other) => {
                return Err(format!(
                    "general.alignment is {other:?}, a power of two up to {MAX_ALIGNMENT} was expected"
                ));
            }
        };
        let header = Self { metadata, tensors, data: cursor.at.div_ceil(alignment) * alignment, length };
        header.fits(alignment)?;
        Ok(header)
    }

    /// Every tensor lies within the file, and all of them together are no longer than it.
    fn fits(&self, alignment: u64) -> Bounds<()> {
        let mut all = 0u64;
        for (name, place) in &self.tensors {
            let bytes = place.bytes();
            let end = bytes.and_then(|b| self.data.checked_add(place.offset)?.checked_add(b));
            match (bytes, end) {
                (Some(bytes), Some(end)) if end <= self.length => all = all.saturating_add(bytes),
                _ => {
                    return Err(format!(
                        "tensor {name} of {:?} at {} ends behind the file's {} bytes",
                        place.dims, place.offset, self.length
                    ));
                }
            }
            if !place.offset.is_multiple_of(alignment) {
                return Err(format!(
                    "tensor {name} begins at {}, which is not a multiple of {alignment}",
                    place.offset
                ));
            }
        }
        if all > self.length {
            return Err(format!("the tensors take {all} bytes of a file of {}: they overlap", self.length));
        }
        Ok(())
    }

    /// A text of the metadata.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.metadata.get(key) {
            Some(Value::Text(v)) => Some(v),
            _ => None,
        }
    }

    /// An integer of the metadata that fits into 32 bits.
    pub fn integer(&self, key: &str) -> Option<u32> {
        match self.metadata.get(key) {
            Some(Value::Integer(v)) => u32::try_from(*v).ok(),
            _ => None,
        }
    }

    /// A finite float of the metadata.
    pub fn float(&self, key: &str) -> Option<f32> {
        match self.metadata.get(key) {
            Some(Value::Float(v)) if v.is_finite() => Some(*v as f32),
            _ => None,
        }
    }

    /// A boolean of the metadata.
    pub fn bool(&self, key: &str) -> Option<bool> {
        match self.metadata.get(key) {
            Some(Value::Bool(v)) => Some(*v),
            _ => None,
        }
    }
}

fn place<R: Read>(cursor: &mut Cursor<R>) -> Bounds<(String, Place)> {
    let name = cursor.text(MAX_KEY, "a tensor's name")?;
    let at = cursor.at;
    let n = cursor.u32(&name)?;
    if n > MAX_DIMENSIONS {
        return Err(format!("byte {at}: tensor {name} has {n} dimensions, at most {MAX_DIMENSIONS} were expected"));
    }
    let mut dims = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let dim = cursor.u64(&name)?;
        dims.push(
            usize::try_from(dim)
                .ok()
                .filter(|d| *d > 0)
                .ok_or_else(|| format!("byte {at}: tensor {name} has a dimension of {dim}"))?,
        );
    }
    dims.reverse();
    let at = cursor.at;
    let number = cursor.u32(&name)?;
    let kind = KINDS.iter().find(|(k, _)| *k == number).map(|(_, kind)| *kind).ok_or_else(|| {
        let known: Vec<String> = KINDS.iter().map(|(_, kind)| format!("{kind:?}")).collect();
        format!("byte {at}: tensor {name} is stored in form {number}, known are {}", known.join(", "))
    })?;
    let row = dims.last().copied().unwrap_or(1);
    if !row.is_multiple_of(kind.block_size()) {
        return Err(format!(
            "byte {at}: tensor {name} has rows of {row} numbers, {kind:?} takes multiples of {}",
            kind.block_size()
        ));
    }
    let offset = cursor.u64(&name)?;
    Ok((name, Place { dims, kind, offset }))
}

impl Place {
    /// How many bytes it takes; none where that is beyond 64 bits.
    pub fn bytes(&self) -> Option<u64> {
        let numbers = self.dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d as u64))?;
        (numbers / self.kind.block_size() as u64).checked_mul(self.kind.type_size() as u64)
    }
}
