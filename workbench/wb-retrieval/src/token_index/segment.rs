//! Some documents of an index in one file, read where it lies.

use std::{ops::Range, path::Path};

use wb_core::{Embeddings, Error, fingerprint::Fingerprint};

use super::{
    codec,
    layout::{Layout, Listed, SegmentEntry},
};
use crate::{MappedBytes, Result, map_file};

/// A segment, mapped into memory.
pub(super) struct Segment {
    bytes: MappedBytes,
    places: [usize; 7],
    residual: usize,
    documents: usize,
    /// Position of its first document in the index.
    pub(super) first: usize,
}

impl Segment {
    /// Maps a file whose length and hash are those of the entry.
    pub(super) fn open(folder: &Path, layout: &Layout, entry: &SegmentEntry, first: usize) -> Result<Self> {
        let bytes = mapped(folder, &entry.name, &entry.file)?;
        let places = layout.sections(entry.documents, entry.tokens);
        let residual = (places[6] - places[5]).checked_div(entry.tokens).unwrap_or(0);
        let segment = Self { bytes, places, residual, documents: entry.documents, first };
        segment.check(entry.tokens).map_err(|what| {
            Error::data(folder.join(&entry.name).display().to_string(), format!("{what} do not fit each other"))
        })?;
        Ok(segment)
    }

    /// Checks what reading relies on, so that a file written wrongly is an error and no panic.
    fn check(&self, tokens: usize) -> Result<(), &'static str> {
        let ascends = |from: usize, n: usize| {
            let mut last = 0;
            let sorted = (0..n).all(|at| {
                let ok = self.u32(from, at) >= last;
                last = self.u32(from, at);
                ok
            });
            sorted && last as usize == tokens
        };
        if !ascends(self.places[0], self.documents + 1) {
            return Err("places of documents");
        }
        if !ascends(self.places[1], (self.places[2] - self.places[1]) / 4) {
            return Err("places of centroids");
        }
        if (0..tokens).any(|at| self.u32(self.places[2], at) as usize >= tokens) {
            return Err("tokens of centroids");
        }
        let centroids = (self.places[2] - self.places[1]) / 4 - 1;
        if (0..tokens).any(|at| usize::from(self.u16(self.places[3], at)) >= centroids) {
            return Err("centroids of tokens");
        }
        Ok(())
    }

    fn u32(&self, from: usize, at: usize) -> u32 {
        let bytes = &self.bytes[from + 4 * at..][..4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    fn u16(&self, from: usize, at: usize) -> u16 {
        let bytes = &self.bytes[from + 2 * at..][..2];
        u16::from_le_bytes([bytes[0], bytes[1]])
    }

    /// Number of documents.
    pub(super) fn documents(&self) -> usize {
        self.documents
    }

    /// The tokens of a document, as positions in the segment.
    pub(super) fn tokens_of(&self, document: usize) -> Range<usize> {
        self.u32(self.places[0], document) as usize..self.u32(self.places[0], document + 1) as usize
    }

    /// The document that a token belongs to.
    pub(super) fn document_of(&self, token: usize) -> usize {
        let (mut low, mut high) = (0, self.documents);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.u32(self.places[0], middle) as usize <= token { low = middle } else { high = middle }
        }
        low
    }

    /// The tokens of a centroid, ascending.
    pub(super) fn tokens_at(&self, centroid: usize) -> impl ExactSizeIterator<Item = usize> {
        let of = |at| self.u32(self.places[1], at) as usize;
        (of(centroid)..of(centroid + 1)).map(|at| self.u32(self.places[2], at) as usize)
    }

    /// The centroid of a token.
    pub(super) fn centroid_of(&self, token: usize) -> usize {
        usize::from(self.u16(self.places[3], token))
    }

    /// Factor of a token's decompressed vector.
    pub(super) fn scale_of(&self, token: usize) -> f32 {
        codec::scale(self.bytes[self.places[4] + token])
    }

    /// The code of a token's residual.
    pub(super) fn residual_of(&self, token: usize) -> &[u8] {
        &self.bytes[self.places[5] + token * self.residual..][..self.residual]
    }
}

/// The bytes of a segment.
pub(super) fn bytes(layout: &Layout, rows: &Embeddings, codes: &[u32], scales: &[u8], residuals: &[u8]) -> Vec<u8> {
    let tokens = codes.len();
    let mut bytes = Vec::with_capacity(layout.sections(rows.texts(), tokens)[6]);
    let mut put = |numbers: &mut dyn Iterator<Item = u32>| numbers.for_each(|n| bytes.extend(n.to_le_bytes()));
    put(&mut (0..=rows.texts()).map(|texts| rows.rows(0..texts).end as u32));
    let mut starts = vec![0u32; layout.centroids + 1];
    codes.iter().for_each(|code| starts[*code as usize + 1] += 1);
    (0..layout.centroids).for_each(|at| starts[at + 1] += starts[at]);
    put(&mut starts.iter().copied());
    let (mut next, mut by_centroid) = (starts, vec![0u32; tokens]);
    for (token, code) in codes.iter().enumerate() {
        by_centroid[next[*code as usize] as usize] = token as u32;
        next[*code as usize] += 1;
    }
    put(&mut by_centroid.into_iter());
    codes.iter().for_each(|code| bytes.extend((*code as u16).to_le_bytes()));
    bytes.extend_from_slice(scales);
    bytes.extend_from_slice(residuals);
    bytes
}

/// Maps a file of the index after its length and hash were compared.
pub(super) fn mapped(folder: &Path, name: &str, listed: &Listed) -> Result<MappedBytes> {
    let path = folder.join(name);
    let place = || path.display().to_string();
    let found = std::fs::metadata(&path).map_err(Error::io("read", &path))?.len();
    let again = "build the index again, or put the file back";
    if found != listed.bytes {
        let message = format!("{found} bytes, expected {}", listed.bytes);
        return Err(Error::data(place(), message).with_hint(again));
    }
    let hash = Fingerprint::of_file(&path)?;
    if hash != listed.blake3 {
        let message = format!("its hash is {}, expected {}", hash.short(), listed.blake3.short());
        return Err(Error::data(place(), message).with_hint(again));
    }
    map_file(&path)
}
