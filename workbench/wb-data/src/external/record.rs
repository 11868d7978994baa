//! The record in a fetched folder: where its files come from, under which license, and what was made of them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wb_core::run_dir;

use super::conversions::ConversionCounts;
use crate::Result;

/// The record's name. It is hidden: sources that take a whole folder read every `.json` in it that is not.
pub const RECORD: &str = ".source.json";

/// The record of a fetched folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchRecord {
    /// The entry of the catalog.
    pub name: String,
    /// Its name in the literature.
    pub title: String,
    /// Its license.
    pub license: String,
    /// Time of the making, RFC 3339, UTC.
    pub made: String,
    /// The fingerprint of sources and conversion: another one means another folder.
    pub recipe: String,
    /// The files that were fetched.
    pub sources: Vec<Taken>,
    /// Numbers of what was written and, by its reason, of what was left out.
    pub counts: ConversionCounts,
}

/// A file that was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The server with the commit.
    pub from: String,
    /// The file's path there.
    pub path: String,
    /// Bytes.
    pub bytes: u64,
    /// SHA-256 in hex.
    pub sha256: String,
}

impl FetchRecord {
    /// The record of a folder; none where it has none.
    pub fn of(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(RECORD);
        if !path.is_file() {
            return Ok(None);
        }
        Ok(Some(run_dir::read_json(&path)?))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        run_dir::write_json(&folder.join(RECORD), self)
    }
}
