//! The files of a repository at a commit, with their sizes and hashes.

use serde::{Deserialize, Serialize};

use crate::Digest;

/// A file that a repository lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFile {
    /// Path inside the repository, with slashes.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Its content.
    pub digest: Digest,
}

/// All files of a repository at a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Files in the order of their paths.
    pub files: Vec<RemoteFile>,
}

impl Listing {
    /// The paths of all files.
    pub fn paths(&self) -> Vec<&str> {
        self.files.iter().map(|file| file.path.as_str()).collect()
    }

    /// Listed files of these paths.
    pub(crate) fn chosen(&self, paths: &[String]) -> Vec<RemoteFile> {
        self.files.iter().filter(|file| paths.contains(&file.path)).cloned().collect()
    }
}

/// A path of a listing that may become part of a path on this disk: relative, and not upward.
#[cfg(feature = "network")]
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', ':', '\0'])
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}
