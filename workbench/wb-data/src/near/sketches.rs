//! Sketches of texts on the disk.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use wb_core::{Error, Result, seed::split_mix64};

use super::records::{BandRecord, Routed, ShortSignature};
use crate::minhash::{Bands, MinHash};

/// Sketches as they are made.
pub(crate) struct SketchWriter {
    path: PathBuf,
    bands: Bands,
    minhash: MinHash,
    shingles: BufWriter<File>,
    lengths: Vec<u32>,
    keys: Routed,
}

/// Sketches of texts, in files.
pub(crate) struct SketchFiles {
    /// The shingles of each text, and a number that checks them.
    pub shingles: PathBuf,
    /// Number of shingles of each text.
    pub lengths: Vec<u32>,
    /// Records of bands, by their keys.
    pub keys: Vec<PathBuf>,
}

impl SketchWriter {
    /// Sketches into a folder, which is made; bands are those for a threshold of Jaccard similarity.
    pub(crate) fn create(folder: &Path, threshold: f64) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let path = folder.join("shingles");
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        Ok(Self {
            path,
            bands: Bands::for_threshold(threshold),
            minhash: MinHash::new(),
            shingles: BufWriter::with_capacity(1 << 20, file),
            lengths: Vec::new(),
            keys: Routed::create(folder, "keys")?,
        })
    }

    /// Takes the next texts.
    pub(crate) fn push(&mut self, texts: &[&str]) -> Result<()> {
        let sketched: Vec<_> = texts
            .par_iter()
            .map(|text| {
                let sketch = self.minhash.sketch(text);
                (self.bands.keys(&sketch), ShortSignature::of(&sketch), sketch)
            })
            .collect();
        for (keys, signature, sketch) in sketched {
            let text = self.lengths.len() as u32;
            for key in keys {
                self.keys.write_record(&BandRecord { key, text, signature })?;
            }
            let shingles = sketch.shingles();
            let mut numbers = shingles.iter().copied().chain([check(shingles)]);
            let written = numbers.try_for_each(|number| self.shingles.write_all(&number.to_le_bytes()));
            written.map_err(Error::io("write", &self.path))?;
            self.lengths.push(shingles.len() as u32);
        }
        Ok(())
    }

    /// The files, whole.
    pub(crate) fn finish(mut self) -> Result<SketchFiles> {
        self.shingles.flush().map_err(Error::io("write", &self.path))?;
        Ok(SketchFiles { shingles: self.path, lengths: self.lengths, keys: self.keys.files()? })
    }
}

/// The number that stands behind a text's shingles.
pub(super) fn check(shingles: &[u32]) -> u32 {
    (shingles.iter().fold(shingles.len() as u64, |hash, shingle| split_mix64(hash ^ u64::from(*shingle))) >> 32) as u32
}
