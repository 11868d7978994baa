//! Vectors that are done, block by block, until all are.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use wb_core::{Embeddings, Error, Result, atomic, fingerprint::Fingerprint};

/// A folder of blocks, which belong to one encoder and one sequence of texts.
pub struct EncodedBlocks {
    folder: PathBuf,
    texts: usize,
    size: usize,
}

/// Names, length and offsets: what a block has beside its numbers.
#[derive(Debug, Serialize, Deserialize)]
struct Block {
    /// Names of its texts.
    ids: Vec<String>,
    /// Length of a vector.
    dim: usize,
    /// Places where the vectors of each text begin, with the end; nothing where every text has one.
    offsets: Option<Vec<usize>>,
}

impl EncodedBlocks {
    /// Opens a folder for `texts` in blocks of `size`. `key` names all that decides the vectors: blocks of another one
    /// are thrown away.
    pub fn open(folder: &Path, key: &Fingerprint, texts: usize, size: usize) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let named = folder.join("key");
        let blocks = Self { folder: folder.to_owned(), texts, size };
        if fs::read_to_string(&named).is_ok_and(|found| found == key.as_str()) {
            return Ok(blocks);
        }
        for at in (0..).take_while(|at| blocks.has(*at)) {
            atomic::remove_file(&blocks.numbers(at))?;
        }
        atomic::write(&named, key.as_str().as_bytes())?;
        Ok(blocks)
    }

    /// True where a folder has a block that an encoding may go on after.
    pub fn any(folder: &Path) -> bool {
        folder.join("000000.f32").is_file()
    }

    /// True where a block is whole.
    pub fn has(&self, at: usize) -> bool {
        self.numbers(at).is_file()
    }

    /// Keeps a block. Its numbers come last, and are there whole or not at all.
    pub fn put(&self, at: usize, ids: &[String], vectors: &Embeddings) -> Result<()> {
        let offsets = vectors.offsets().map(<[usize]>::to_vec);
        let block = Block { ids: ids.to_vec(), dim: vectors.dim(), offsets };
        let path = self.names(at);
        let json = serde_json::to_vec(&block).map_err(|error| Error::json(&path, &error))?;
        atomic::write(&path, &json)?;
        let bytes: Vec<u8> = vectors.view().iter().flat_map(|number| number.to_le_bytes()).collect();
        atomic::write(&self.numbers(at), &bytes)
    }

    /// The blocks, in order, each read when it is asked for: the texts' names, and their vectors.
    pub fn all(&self) -> impl Iterator<Item = Result<(Vec<String>, Embeddings)>> {
        (0..self.texts.div_ceil(self.size)).map(|at| {
            let (names, numbers) = (self.names(at), self.numbers(at));
            let json = fs::read(&names).map_err(Error::io("read", &names))?;
            let Block { ids, dim, offsets } =
                serde_json::from_slice(&json).map_err(|error| Error::json(&names, &error))?;
            let bytes = fs::read(&numbers).map_err(Error::io("read", &numbers))?;
            let values = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            let vectors = Embeddings::of_values(values, dim, offsets)?;
            if ids.len() != vectors.texts() {
                let message = format!("{} vectors for {} texts", vectors.texts(), ids.len());
                return Err(Error::file(&numbers, message).with_hint("take the folder away, and encode again"));
            }
            Ok((ids, vectors))
        })
    }

    fn names(&self, at: usize) -> PathBuf {
        self.folder.join(format!("{at:06}.json"))
    }

    fn numbers(&self, at: usize) -> PathBuf {
        self.folder.join(format!("{at:06}.f32"))
    }
}
