//! Content hashes: the names of stages' outputs and the proof of what went in.

use std::{
    fmt,
    io::{self, Read},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, remote};

/// 256 bits of BLAKE3, written as hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Starts an empty one.
    pub fn builder() -> FingerprintBuilder {
        FingerprintBuilder(blake3::Hasher::new())
    }

    /// Hash of bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }

    /// Hash of anything that serializes to JSON: a resolved config, for example.
    pub fn of_json(value: &impl Serialize) -> Self {
        // A value of ours that cannot be JSON (a map with keys that are no strings) is a defect, and hashes as its error.
        match serde_json::to_vec(value) {
            Ok(bytes) => Self::of_bytes(&bytes),
            Err(error) => Self::of_bytes(error.to_string().as_bytes()),
        }
    }

    /// Hash of a file's content.
    pub fn of_file(path: &Path) -> Result<Self> {
        Self::of_reader(remote::open(path)?).map_err(Error::io("read", path))
    }

    /// Hash of everything that a reader gives.
    pub fn of_reader(reader: impl Read) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(reader)?;
        Ok(Self(hasher.finalize().to_hex().to_string()))
    }

    /// All 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 hex digits, for names of files and folders.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first 128 bits of a text's BLAKE3 hash, as a key of maps: equal ones are equal texts for every practical purpose.
pub fn text_key(text: &str) -> [u64; 2] {
    let hash = blake3::hash(text.as_bytes());
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&hash.as_bytes()[at..at + 8]);
        u64::from_le_bytes(word)
    };
    [word(0), word(8)]
}

/// Floats that are made bytes of at a time.
const PIECE: usize = 1 << 14;

/// Takes fields one by one; each carries its length, so `ab`+`c` differs from `a`+`bc`.
pub struct FingerprintBuilder(blake3::Hasher);

impl FingerprintBuilder {
    /// Adds a text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds 32-bit floats: the same as their little-endian bytes.
    pub fn floats(&mut self, numbers: &[f32]) -> &mut Self {
        self.floats_by(numbers.len(), |first, piece| piece.copy_from_slice(&numbers[first..first + piece.len()]))
    }

    /// Adds so many 32-bit floats, which are asked for a piece at a time, by the place of its first: the weights of a
    /// model are not copied whole.
    pub fn floats_by(&mut self, len: usize, mut write: impl FnMut(usize, &mut [f32])) -> &mut Self {
        self.0.update(&(4 * len as u64).to_le_bytes());
        let mut numbers = vec![0.0; len.min(PIECE)];
        let mut bytes = Vec::with_capacity(4 * numbers.len());
        for first in (0..len).step_by(PIECE) {
            let piece = &mut numbers[..PIECE.min(len - first)];
            write(first, piece);
            bytes.clear();
            bytes.extend(piece.iter().flat_map(|number| number.to_le_bytes()));
            self.0.update(&bytes);
        }
        self
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    /// The fingerprint of what was added so far.
    pub fn finish(&self) -> Fingerprint {
        Fingerprint(self.0.finalize().to_hex().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_their_bytes() {
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 3] {
            let numbers: Vec<f32> = (0..length).map(|i| (i as f32).sin()).collect();
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let whole = Fingerprint::builder().bytes(&bytes).finish();
            assert_eq!(Fingerprint::builder().floats(&numbers).finish(), whole, "{length} numbers");
        }
        let order = |a: f32, b: f32| Fingerprint::builder().floats(&[a, b]).finish();
        assert_ne!(order(1.0, 2.0), order(2.0, 1.0));
    }
}
