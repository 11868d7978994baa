//! The files of a tree one by one, with group and license, for those who cut them in another way than into pairs.

use std::{collections::BTreeMap, path::PathBuf};

use wb_core::{Origin, fingerprint::Fingerprint};

use super::{TreeConfig, read::source_text};
use crate::{Language, Result};

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Path of the file on this disk.
    pub absolute: PathBuf,
    /// The beginning of its parts' ids: group and path.
    pub id: String,
    /// Its group, its path in it and the group's license; no lines.
    pub origin: Origin,
}

/// The files of a tree in the order of their paths; nothing of them is read yet.
#[derive(Debug, Clone)]
pub struct TreeFiles {
    /// The files.
    pub files: Vec<TreeFile>,
    /// Files of the languages asked for that are left aside, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Equal to [`super::tree_fingerprint`].
    pub fingerprint: Fingerprint,
    languages: Vec<Language>,
}

impl TreeFiles {
    /// Language and text of one of the files, or why it is left aside: it is gone, no UTF-8, a header of a language
    /// that is not asked for.
    pub fn read(&self, file: &TreeFile) -> std::result::Result<(Language, String), &'static str> {
        source_text(&file.absolute, &self.languages)
    }
}

/// Lists the files that [`super::read_tree`] would read, grouped as it would group them.
pub fn tree_files(config: &TreeConfig) -> Result<TreeFiles> {
    config.validate("tree")?;
    let (listing, groups, fingerprint) = super::listed(config)?;
    let files = listing.files.iter().zip(groups.places).map(|(file, place)| TreeFile {
        absolute: listing.root.join(&file.relative),
        id: place.id,
        origin: Origin { group: place.group, path: place.path, license: place.license, ..Origin::default() },
    });
    Ok(TreeFiles { files: files.collect(), skipped: listing.skipped, fingerprint, languages: listing.languages })
}
