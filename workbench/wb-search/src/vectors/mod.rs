//! Vectors of units, by which an encoder's questions find them.

mod made;
mod store;

use std::{collections::HashMap, path::Path};

use serde::{Deserialize, Serialize};
use wb_core::{Encoder, Side, atomic, fingerprint::Fingerprint};
use wb_retrieval::ByteVectors;

pub use made::{embed, texts};
pub use store::VectorStore;

use crate::{
    CodeIndex, Error, Result,
    bytes::{Magic, Reader, Sealed, Writer, damaged},
};

const MAGIC: Magic = *b"wbvecs\x00\x01";

/// The key of a unit's text.
pub type UnitKey = [u64; 2];

/// The encoder that made vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorEncoder {
    /// Its name as it was typed, with folders in full: what opens it again.
    pub opens: String,
    /// Its fingerprint: another one gives other vectors.
    pub fingerprint: Fingerprint,
    /// Length of a vector.
    pub dim: usize,
    /// Names, sizes and times of its files, by which it is known again without reading all of it; empty where it has none.
    pub stamp: String,
}

impl VectorEncoder {
    /// An encoder that is open, by its name as it was typed and the stamp of its files.
    pub fn of(opens: &str, stamp: String, encoder: &dyn Encoder) -> Self {
        Self { opens: opens.to_owned(), fingerprint: encoder.fingerprint(), dim: encoder.dim(), stamp }
    }
}

/// Vectors of texts of units, of length 1, or 0 where a text had none.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitVectors {
    encoder: VectorEncoder,
    keys: Vec<UnitKey>,
    vectors: ByteVectors,
}

impl UnitVectors {
    /// None yet.
    pub fn empty(encoder: VectorEncoder) -> Self {
        let vectors = ByteVectors::empty(encoder.dim);
        Self { encoder, keys: Vec::new(), vectors }
    }

    /// The encoder that made them.
    pub fn encoder(&self) -> &VectorEncoder {
        &self.encoder
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Cosines of a question's vector with every text's, in their order; zeros where its length is another.
    pub(crate) fn cosines(&self, question: &[f32]) -> Vec<f32> {
        if question.len() == self.vectors.dim() { self.vectors.scores(question) } else { vec![0.0; self.len()] }
    }

    pub(crate) fn keys(&self) -> &[UnitKey] {
        &self.keys
    }

    /// Adds a text's vector, of length 1.
    pub fn push(&mut self, key: UnitKey, vector: &[f32]) {
        self.keys.push(key);
        self.vectors.push(vector);
    }

    fn push_from(&mut self, others: &Self, at: usize) {
        self.keys.push(others.keys[at]);
        self.vectors.push_from(&others.vectors, at);
    }

    /// The place of each text.
    fn places(&self) -> HashMap<UnitKey, usize> {
        self.keys.iter().zip(0..).map(|(key, at)| (*key, at)).collect()
    }

    /// The vectors of an index's units in their order, as far as they are here, zeros for the others; and the positions of
    /// those units.
    pub(crate) fn ordered(self, index: &CodeIndex) -> (Self, Vec<usize>) {
        let units = index.units();
        if units.len() == self.len() && units.iter().zip(&self.keys).all(|(unit, key)| unit.key == *key) {
            return (self, Vec::new());
        }
        let places = self.places();
        let (mut ordered, mut missing) = (Self::empty(self.encoder.clone()), Vec::new());
        let zeros = vec![0.0; self.encoder.dim];
        for (unit, at) in units.iter().zip(0..) {
            match places.get(&unit.key) {
                Some(place) => ordered.push_from(&self, *place),
                None => {
                    ordered.push(unit.key, &zeros);
                    missing.push(at);
                }
            }
        }
        (ordered, missing)
    }

    /// A question's vector of length 1.
    pub fn of_question(encoder: &dyn Encoder, question: &str) -> Result<Vec<f32>> {
        let made = encoder.encode_single_vector(&[question], Side::Query, &mut |_| {}).map_err(made::failed)?;
        Ok(made.normalized().row(0).to_vec())
    }

    /// Reads a file of [`UnitVectors::write`].
    pub fn read(path: &Path) -> Result<Self> {
        Self::decode(path).map_err(|error| error.within(format!("cannot use {}", path.display())))
    }

    /// True for vectors that another version of this program wrote, which are made anew.
    pub(crate) fn is_of_another_version(path: &Path) -> bool {
        Sealed::<4>::is_of_another_version(&MAGIC, path)
    }

    /// Writes them, in place of a file that is there.
    pub fn write(&self, path: &Path) -> Result<()> {
        atomic::write(path, self.encode()?.bytes())
    }

    fn encode(&self) -> Result<Sealed<4>> {
        let head = serde_json::to_vec(&self.encoder).map_err(|error| Error::data("vectors", error.to_string()))?;
        let mut keys = Writer::default();
        self.keys.iter().for_each(|key| keys.key(key));
        let scales: Vec<u8> = self.vectors.scales().iter().flat_map(|scale| scale.to_le_bytes()).collect();
        let codes: Vec<u8> = self.vectors.codes().iter().map(|code| code.cast_unsigned()).collect();
        Ok(Sealed::of(&MAGIC, &[&head, &keys.0, &scales, &codes]))
    }

    fn decode(path: &Path) -> Result<Self> {
        let sealed = Sealed::<4>::open(&MAGIC, path)?;
        let encoder: VectorEncoder = serde_json::from_slice(sealed.section(0)).map_err(|_| damaged())?;
        let mut from = Reader(sealed.section(1));
        let mut keys = Vec::with_capacity(from.0.len() / size_of::<UnitKey>());
        while !from.0.is_empty() {
            keys.push(from.key()?);
        }
        let (scales, rest) = sealed.section(2).as_chunks::<4>();
        let scales: Vec<f32> = scales.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if !rest.is_empty() || scales.len() != keys.len() || encoder.dim.checked_mul(keys.len()).is_none() {
            return Err(damaged());
        }
        let vectors = ByteVectors::from_parts(encoder.dim, sealed.kept_section(3), scales).map_err(|_| damaged())?;
        Ok(Self { encoder, keys, vectors })
    }
}
