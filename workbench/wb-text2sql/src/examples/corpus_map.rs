//! Documents by their positions in an index.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wb_core::run_dir::read_json;

use super::ExampleDocument;
use crate::{Error, Result};

/// The name of the index in a folder.
pub const INDEX_NAME: &str = "sql_rag_faiss_index.bin";
/// The name of the map beside it.
pub const MAP_NAME: &str = "sql_rag_corpus_map.json";
/// The name of NumPy's array of the same texts.
pub const ARRAY_NAME: &str = "sql_rag_corpus_map.npy";

/// One position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapEntry {
    /// The row of the index, from 0.
    pub position: usize,
    /// [`ExampleDocument::id`].
    pub id: String,
    /// The database.
    pub db_id: String,
    /// The text that was embedded.
    pub text: String,
}

/// All positions, in order: a JSON list of `position`, `id`, `db_id`, `text`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CorpusMap {
    /// Entry `i` has position `i`.
    pub entries: Vec<MapEntry>,
}

impl CorpusMap {
    /// The map of documents with the texts that were embedded, in the order of the index.
    pub fn new<'a>(documents: impl IntoIterator<Item = (&'a ExampleDocument, String)>) -> Self {
        let entry = |(position, (document, text)): (usize, (&ExampleDocument, String))| MapEntry {
            position,
            id: document.id.clone(),
            db_id: document.db_id.clone(),
            text,
        };
        Self { entries: documents.into_iter().enumerate().map(entry).collect() }
    }

    /// Writes the map; a file that is there is replaced when the new one is whole.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::file(path, error.to_string()))?;
        wb_core::atomic::write(path, &text)
    }

    /// Reads a map and checks it against the number of vectors.
    ///
    /// # Errors
    ///
    /// If it is no map, a position is not where it belongs, or there are more or fewer than `vectors`.
    pub fn read(path: &Path, vectors: usize) -> Result<Self> {
        let map: Self = read_json(path)
            .map_err(|error: Error| error.with_hint("a list of position, id, db_id and text is expected"))?;
        if let Some((at, entry)) = map.entries.iter().enumerate().find(|(at, entry)| entry.position != *at) {
            let what = format!("position {}, expected {at}", entry.position);
            return Err(Error::at(path, format!("entry {at}"), what));
        }
        if map.entries.len() != vectors {
            let what = format!("{} entries, but the index has {vectors} vectors", map.entries.len());
            return Err(Error::file(path, what));
        }
        Ok(map)
    }
}
