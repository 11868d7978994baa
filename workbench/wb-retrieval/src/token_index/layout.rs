//! The files of a compressed token index, and the list of them that makes it whole.
//!
//! `index.json` names every other file with its length and hash, and is replaced last; a file that it does not name is
//! no part of the index. `centroids.bin` holds 32-bit floats, `[centroids, dim]`, all little-endian; a segment has
//! these sections one after the other:
//!
//! | section | entries | each |
//! |---|---|---|
//! | where documents begin in the segment's tokens | documents + 1 | u32 |
//! | where each centroid's tokens begin in the list | centroids + 1 | u32 |
//! | tokens by centroid, ascending in each | tokens | u32 |
//! | each token's centroid | tokens | u16 |
//! | each token's scale | tokens | u8 |
//! | each token's residual | tokens | `dim · bits / 8` bytes, rounded up |

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use wb_core::{Error, fingerprint::Fingerprint, run_dir};

use super::{
    codec::{Codec, bytes_of},
    config::TokenIndexConfig,
};
use crate::Result;

/// Version of the files, so that others are told.
const VERSION: u32 = 1;
pub(super) const INDEX: &str = "index.json";
pub(super) const CENTROIDS: &str = "centroids.bin";

/// Content of `index.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layout {
    version: u32,
    pub(super) dim: usize,
    pub(super) centroids: usize,
    pub(super) config: TokenIndexConfig,
    pub(super) seed: u64,
    /// Names and fingerprints of what made the vectors; vectors of other things do not belong in here.
    pub(super) made_with: BTreeMap<String, String>,
    pub(super) cuts: Vec<f32>,
    pub(super) values: Vec<f32>,
    pub(super) centroids_file: Listed,
    pub(super) segments: Vec<SegmentEntry>,
}

/// A file that belongs to the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
    pub(super) bytes: u64,
    pub(super) blake3: Fingerprint,
}

/// Some documents, added together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SegmentEntry {
    pub(super) name: String,
    pub(super) documents: usize,
    pub(super) tokens: usize,
    pub(super) file: Listed,
}

impl Layout {
    pub(super) fn new(
        dim: usize,
        centroids: usize,
        config: TokenIndexConfig,
        seed: u64,
        made_with: BTreeMap<String, String>,
        codec: &Codec,
        centroids_file: Listed,
    ) -> Self {
        let (cuts, values) = (codec.cuts().to_vec(), codec.values().to_vec());
        let (version, segments) = (VERSION, Vec::new());
        Self { version, dim, centroids, config, seed, made_with, cuts, values, centroids_file, segments }
    }

    /// Reads `index.json`, and refuses what this version cannot have written.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(INDEX);
        let refuse = |message: String| Error::file(&path, message);
        let layout: Self = run_dir::read_json(&path)?;
        if layout.version != VERSION {
            return Err(refuse(format!("version {}, expected {VERSION}", layout.version)));
        }
        layout.config.validate("config")?;
        let fits = layout.centroids_file.bytes == (layout.centroids * layout.dim * 4) as u64
            && (1..=super::config::MOST_CENTROIDS).contains(&layout.centroids)
            && layout.dim > 0
            && layout
                .segments
                .iter()
                .all(|segment| segment.file.bytes == layout.sections(segment.documents, segment.tokens)[6] as u64);
        if !fits {
            return Err(refuse("lengths of files do not fit the numbers of documents and tokens".to_owned()));
        }
        Ok(layout)
    }

    pub(super) fn codec(&self) -> Option<Codec> {
        Codec::from_buckets(self.config.bits, self.dim, self.cuts.clone(), self.values.clone())
    }

    /// Beginnings of the sections of a segment, and the end of the last one.
    pub(super) fn sections(&self, documents: usize, tokens: usize) -> [usize; 7] {
        let sizes = [
            4 * (documents + 1),
            4 * (self.centroids + 1),
            4 * tokens,
            2 * tokens,
            tokens,
            bytes_of(self.dim, self.config.bits) * tokens,
        ];
        let mut places = [0; 7];
        for (at, size) in sizes.iter().enumerate() {
            places[at + 1] = places[at] + size;
        }
        places
    }
}
