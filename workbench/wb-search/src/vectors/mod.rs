//! Vectors of units, by which an encoder's questions find them.

mod made;
mod store;

use std::{collections::HashMap, path::Path};

use serde::{Deserialize, Serialize};
use wb_core::{Embeddings, Encoder, Side, atomic, fingerprint::Fingerprint};
use wb_retrieval::ByteVectors;

pub(crate) use made::failed;
pub use made::{embed, texts};
pub use store::VectorStore;

use crate::{
    CodeIndex, Error, Result,
    bytes::{Magic, OpenFile, Reader, Sealed, Writer, damaged},
};

const MAGIC: Magic = *b"wbvecs\x00\x02";

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

/// Vectors of texts of units, of length 1: one a text, or with late interaction one a token.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitVectors {
    encoder: VectorEncoder,
    keys: Vec<UnitKey>,
    /// Number of vectors up to the end of each text's.
    ends: Vec<u32>,
    vectors: ByteVectors,
}

impl UnitVectors {
    /// None yet.
    pub fn empty(encoder: VectorEncoder) -> Self {
        let vectors = ByteVectors::empty(encoder.dim);
        Self { encoder, keys: Vec::new(), ends: Vec::new(), vectors }
    }

    /// Vectors under the name and at the place of an encoder of the same fingerprint.
    fn made_by(self, encoder: VectorEncoder) -> Self {
        Self { encoder, ..self }
    }

    /// The encoder that made them.
    pub fn encoder(&self) -> &VectorEncoder {
        &self.encoder
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Number of vectors: one a text, or with late interaction one a token.
    pub fn n_vectors(&self) -> usize {
        self.vectors.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Similarities of a question's vectors to every text's, in their order: the cosine, or the mean over the question's
    /// vectors of the greatest cosine with one of the text's. Zeros where the vectors are of another length.
    pub(crate) fn similarities(&self, question: &[f32]) -> Vec<f32> {
        let dim = self.vectors.dim();
        match question.len() {
            n if n == dim && self.vectors.len() == self.len() => self.vectors.scores(question),
            n if n > 0 && dim > 0 && n % dim == 0 => self.vectors.mean_max_sims(question, &self.ends),
            _ => vec![0.0; self.len()],
        }
    }

    pub(crate) fn keys(&self) -> &[UnitKey] {
        &self.keys
    }

    /// Adds a text's vectors, of length 1, one after the other.
    pub fn push(&mut self, key: UnitKey, vectors: &[f32]) {
        vectors.chunks_exact(self.encoder.dim.max(1)).for_each(|vector| self.vectors.push(vector));
        self.end(key);
    }

    fn push_from(&mut self, others: &Self, at: usize) {
        let first = at.checked_sub(1).map_or(0, |before| others.ends[before]);
        (first..others.ends[at]).for_each(|vector| self.vectors.push_from(&others.vectors, vector as usize));
        self.end(others.keys[at]);
    }

    fn end(&mut self, key: UnitKey) {
        self.keys.push(key);
        self.ends.push(self.vectors.len() as u32);
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
        // A vector each: where others have one, all are still scored in one go.
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

    /// A question's vector of length 1, or its tokens' one after the other.
    pub fn of_question(encoder: &dyn Encoder, question: &str) -> Result<Vec<f32>> {
        let made = encoder.encode(&[question], Side::Query, &mut |_| {}).map_err(made::failed)?;
        Ok(of_text(&made.normalized(), 0))
    }

    /// Reads a file of [`UnitVectors::write`].
    pub fn read(path: &Path) -> Result<Self> {
        let file = OpenFile::open(path)?;
        Sealed::open(&MAGIC, &file).and_then(|sealed| Self::decode(&sealed)).map_err(|error| file.told(error))
    }

    /// Vectors of a part of an index; none where there is none, or one of another version, which is made anew.
    pub(crate) fn of_part(part: Option<&OpenFile>) -> Result<Option<Self>> {
        Sealed::read_part(&MAGIC, part, |sealed| Self::decode(&sealed))
    }

    /// Writes them, in place of a file that is there.
    pub fn write(&self, path: &Path) -> Result<()> {
        atomic::write(path, self.encode()?.bytes())
    }

    pub(crate) fn encode(&self) -> Result<Sealed<5>> {
        let head = serde_json::to_vec(&self.encoder).map_err(|error| Error::data("vectors", error.to_string()))?;
        let mut keys = Writer::default();
        self.keys.iter().for_each(|key| keys.key(key));
        let ends: Vec<u8> = self.ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        let scales: Vec<u8> = self.vectors.scales().iter().flat_map(|scale| scale.to_le_bytes()).collect();
        let codes: Vec<u8> = self.vectors.codes().iter().map(|code| code.cast_unsigned()).collect();
        Ok(Sealed::of(&MAGIC, &[&head, &keys.0, &ends, &scales, &codes]))
    }

    fn decode(sealed: &Sealed<5>) -> Result<Self> {
        let encoder: VectorEncoder = serde_json::from_slice(sealed.section(0)).map_err(|_| damaged())?;
        let mut from = Reader(sealed.section(1));
        let mut keys = Vec::with_capacity(from.0.len() / size_of::<UnitKey>());
        while !from.0.is_empty() {
            keys.push(from.key()?);
        }
        let ends: Vec<u32> = numbers(sealed.section(2))?.map(u32::from_le_bytes).collect();
        let scales: Vec<f32> = numbers(sealed.section(3))?.map(f32::from_le_bytes).collect();
        let is_whole = ends.len() == keys.len()
            && ends.is_sorted()
            && ends.last().map_or(0, |end| *end as usize) == scales.len()
            && encoder.dim.checked_mul(scales.len()).is_some();
        if !is_whole {
            return Err(damaged());
        }
        let vectors = ByteVectors::from_parts(encoder.dim, sealed.kept_section(4), scales).map_err(|_| damaged())?;
        Ok(Self { encoder, keys, ends, vectors })
    }
}

/// Numbers of four bytes each.
fn numbers(section: &[u8]) -> Result<impl Iterator<Item = [u8; 4]>> {
    let (numbers, rest) = section.as_chunks::<4>();
    if rest.is_empty() { Ok(numbers.iter().copied()) } else { Err(damaged()) }
}

/// The vectors of one text, one after the other: one, or with late interaction one a token.
pub fn of_text(embeddings: &Embeddings, text: usize) -> Vec<f32> {
    embeddings.of(text).iter().copied().collect()
}
