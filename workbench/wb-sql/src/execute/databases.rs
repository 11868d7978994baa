//! The databases of a question: every file of a folder whose name contains `.sqlite`, with its hash.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

use super::{Error, Result, Source};

/// A database file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Database {
    /// Its absolute path.
    pub path: String,
    /// BLAKE3 of its bytes, in hexadecimal digits: the same figures need the same databases.
    pub blake3: String,
}

impl Database {
    /// A file, with its hash.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or its path is no UTF-8.
    pub fn open(path: &Path) -> Result<Database> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let absolute = fs::canonicalize(path).map_err(io)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(fs::File::open(&absolute).map_err(io)?).map_err(io)?;
        let path = absolute.into_os_string().into_string().map_err(|path| Error::Path(path.into()))?;
        Ok(Database { path, blake3: hasher.finalize().to_hex().to_string() })
    }

    /// Where statements run on it.
    pub fn source(&self) -> Source {
        Source::File(self.path.clone())
    }
}

/// All databases of a folder in the order of their names: one for Spider, many for its test suite.
///
/// # Errors
///
/// If the folder or a file cannot be read, or there is none.
pub fn databases(folder: &Path) -> Result<Vec<Database>> {
    let io = |source| Error::Io { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let named = entry.file_name().to_string_lossy().contains(".sqlite");
        if named && entry.path().is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Error::NoDatabase(folder.to_owned()));
    }
    paths.iter().map(|path| Database::open(path)).collect()
}
