//! The state of a data set's folders on this disk: missing, there, or put there by a person.

use std::{
    fs,
    path::{Path, PathBuf},
};

use wb_core::{Error, fingerprint::Fingerprint};

use super::{
    entry::{DataSetFolder, Entry},
    record::{FetchRecord, RECORD},
};
use crate::Result;

/// The state of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderState {
    /// Nothing is there.
    Missing,
    /// Present, and made as it would be made now.
    There,
    /// Fetched too, but of other files or by another version of this program.
    Other,
    /// A person put it there, or the same in another layout at this path.
    ByHand(PathBuf),
}

/// Looks at a part under `external`, of a revision of its servers other than the catalog's where one is named.
pub fn state(entry: &Entry, part: &DataSetFolder, external: &Path, revision: Option<&str>) -> Result<FolderState> {
    let place = external.join(&part.place);
    // What a person put beside it is what readers take.
    if let Some(instead) = part.instead.iter().map(|path| external.join(path)).find(|path| path.exists()) {
        return Ok(FolderState::ByHand(instead));
    }
    if is_empty(&place)? {
        return Ok(FolderState::Missing);
    }
    Ok(match FetchRecord::of(&place)? {
        None => FolderState::ByHand(place),
        Some(record) if record.name == entry.name && record.recipe == recipe(part, external, revision)? => {
            FolderState::There
        }
        Some(_) => FolderState::Other,
    })
}

/// The fingerprint of a part's sources and conversion, and of what else on this disk goes into it.
pub(super) fn recipe(part: &DataSetFolder, external: &Path, revision: Option<&str>) -> Result<String> {
    let mut part = part.clone();
    if let Some(revision) = revision {
        for origin in &mut part.origins {
            origin.server = origin.server.at(revision);
        }
    }
    let beside = part.conversion.member().beside(external)?;
    Ok(Fingerprint::of_json(&(&part, beside)).as_str().to_owned())
}

/// True where nothing is at a place, or a folder without anything in it.
fn is_empty(place: &Path) -> Result<bool> {
    if !place.exists() {
        return Ok(true);
    }
    if !place.is_dir() {
        return Ok(false);
    }
    Ok(fs::read_dir(place).map_err(Error::io("read", place))?.next().is_none())
}

/// Bytes of the files in a folder, and in those below, the record aside.
pub fn bytes_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let meta = entry.metadata().map_err(Error::io("read", entry.path()))?;
        bytes += match meta.is_dir() {
            true => bytes_of(&entry.path())?,
            false if entry.file_name() == RECORD => 0,
            false => meta.len(),
        };
    }
    Ok(bytes)
}
