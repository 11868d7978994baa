//! CoSQA's layout: `code_idx_map.txt` (JSON, code to number) with `cosqa-retrieval-{dev,test}-500.json`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::files::Files;
use crate::{Error, Result};

/// CoSQA as a search task.
#[derive(Debug, Clone, Default)]
pub struct Cosqa {
    /// Every function of the pool by its number, docstrings inside, as published.
    pub pool: Vec<(u64, String)>,
    /// Each split found: `test`, then `dev`.
    pub splits: Vec<(&'static str, Vec<CosqaQuery>)>,
}

/// A web query with the function that answers it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CosqaQuery {
    /// `cosqa-train-8333`.
    pub idx: String,
    /// The query.
    pub doc: String,
    /// The number of the function in the pool.
    pub retrieval_idx: u64,
}

/// Splits and their files, in the order in which they are measured.
const SPLITS: [(&str, &str); 2] = [("test", "cosqa-retrieval-test-500.json"), ("dev", "cosqa-retrieval-dev-500.json")];

/// True where [`read`] would find the pool and a split.
pub fn is_in(root: &Path) -> bool {
    folder(root).is_some_and(|folder| SPLITS.iter().any(|(_, name)| folder.join(name).is_file()))
}

/// The folder itself or its `cosqa`, whichever has the pool.
fn folder(root: &Path) -> Option<PathBuf> {
    [root.to_path_buf(), root.join("cosqa")].into_iter().find(|folder| folder.join("code_idx_map.txt").is_file())
}

/// Reads the layout; nothing where it is not there.
pub fn read(files: &mut Files) -> Result<Option<Cosqa>> {
    let Some(folder) = folder(files.root()) else { return Ok(None) };
    let map_path = folder.join("code_idx_map.txt");
    // `serde_json::Map` keeps the file's order here, which the pool's order is.
    let map: serde_json::Map<String, serde_json::Value> = files.json(&map_path)?;
    let mut pool = Vec::with_capacity(map.len());
    for (code, number) in map {
        let Some(number) = number.as_u64() else {
            let message = format!("a function has number {number}, expected a whole number from 0");
            return Err(Error::file(&map_path, message));
        };
        pool.push((number, code));
    }
    let mut splits = Vec::new();
    for (split, name) in SPLITS {
        let path = folder.join(name);
        if !path.is_file() {
            continue;
        }
        let queries: Vec<CosqaQuery> = files.json(&path)?;
        let known: std::collections::HashSet<u64> = pool.iter().map(|(number, _)| *number).collect();
        if let Some(query) = queries.iter().find(|query| !known.contains(&query.retrieval_idx)) {
            let (id, function, map) = (&query.idx, query.retrieval_idx, map_path.display());
            let message = format!("query {id} is answered by function {function}, which {map} does not have");
            return Err(Error::file(&path, message));
        }
        splits.push((split, queries));
    }
    Ok(Some(Cosqa { pool, splits }))
}
