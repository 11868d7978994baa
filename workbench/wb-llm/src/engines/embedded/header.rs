//! The header of a GGUF file: what it says of the model, and where its tensors lie.
//!
//! What holds of the metadata (`crate::gguf`) holds of the tensors: every one of them is checked against the end of the
//! file before it is believed.

use std::{
    collections::BTreeMap,
    io::{Read, Seek},
};

use candle_core::quantized::GgmlDType;

pub use crate::gguf::GgufValue;
use crate::gguf::{self, Bounds, Cursor, MAX_KEY, Metadata};

/// Dimensions of a tensor at most.
const MAX_DIMENSIONS: u32 = 4;
/// The alignment of tensors at most.
const MAX_ALIGNMENT: u64 = 1 << 20;

/// The place of a tensor in the file, and its form.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorPlace {
    /// Its dimensions, the longest stride first: rows, then columns.
    pub dims: Vec<usize>,
    /// Form in which its numbers are stored.
    pub kind: GgmlDType,
    /// Bytes from the beginning of the tensors.
    pub offset: u64,
}

/// The part of the file before the tensors.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Keys and values.
    pub metadata: Metadata,
    /// Tensors by name.
    pub tensors: BTreeMap<String, TensorPlace>,
    /// Byte of the file at which the tensors begin.
    pub data: u64,
    /// Bytes of the whole file.
    pub length: u64,
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
        let (mut cursor, metadata, count, length) = gguf::begin(reader)?;
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
            Some(GgufValue::Integer(v)) if (1..=MAX_ALIGNMENT.into()).contains(v) && v.count_ones() == 1 => *v as u64,
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
            Some(GgufValue::Text(v)) => Some(v),
            _ => None,
        }
    }

    /// An integer of the metadata that fits into 32 bits.
    pub fn integer(&self, key: &str) -> Option<u32> {
        match self.metadata.get(key) {
            Some(GgufValue::Integer(v)) => u32::try_from(*v).ok(),
            _ => None,
        }
    }

    /// A finite float of the metadata.
    pub fn float(&self, key: &str) -> Option<f32> {
        match self.metadata.get(key) {
            Some(GgufValue::Float(v)) if v.is_finite() => Some(*v as f32),
            _ => None,
        }
    }

    /// A boolean of the metadata.
    pub fn bool(&self, key: &str) -> Option<bool> {
        match self.metadata.get(key) {
            Some(GgufValue::Bool(v)) => Some(*v),
            _ => None,
        }
    }
}

fn place<R: Read>(cursor: &mut Cursor<R>) -> Bounds<(String, TensorPlace)> {
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
    Ok((name, TensorPlace { dims, kind, offset }))
}

impl TensorPlace {
    /// Number of bytes that it takes; none where that is beyond 64 bits.
    pub fn bytes(&self) -> Option<u64> {
        let numbers = self.dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d as u64))?;
        (numbers / self.kind.block_size() as u64).checked_mul(self.kind.type_size() as u64)
    }
}
