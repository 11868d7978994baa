//! The databases of a question: every file of a folder whose name contains `.sqlite`, with its hash.
//!
//! What SQLite keeps beside a database while it is written (`-wal`, `-shm`, `-journal`) is no database. A log that is not
//! empty holds changes that a database opened as immutable would silently lack, so that it is an error.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use wb_core::fingerprint::Fingerprint;

use super::{DatabaseSource, Error, Result};

/// Endings of the names of SQLite's own files beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A database file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Database {
    /// Its absolute path.
    pub path: String,
    /// BLAKE3 of its bytes, in hexadecimal digits: the same figures need the same databases.
    pub blake3: Fingerprint,
}

impl Database {
    /// A file, with its hash.
    ///
    /// # Errors
    ///
    /// If it cannot be read, its path is no UTF-8, or changes beside it are not in it yet.
    pub fn open(path: &Path) -> Result<Database> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let absolute = fs::canonicalize(path).map_err(io)?;
        if let Some(log) = unmerged(&absolute) {
            return Err(Error::Unmerged { database: path.to_owned(), log });
        }
        let blake3 = fs::File::open(&absolute).and_then(Fingerprint::of_reader).map_err(io)?;
        let path = absolute.into_os_string().into_string().map_err(|path| Error::Path(path.into()))?;
        Ok(Database { path, blake3 })
    }

    /// Source on which statements run.
    pub fn source(&self) -> DatabaseSource {
        DatabaseSource::File(self.path.clone())
    }
}

/// A log with changes that are not in the database, or that have to be taken back.
fn unmerged(database: &Path) -> Option<PathBuf> {
    let beside = |ending: &str| {
        let mut name = database.to_owned().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    let begins = |log: &Path| {
        let mut first = [0];
        let count = fs::File::open(log).and_then(|mut file| file.read(&mut first));
        count.map(|count| (count > 0).then_some(first[0]))
    };
    // A journal that is done with can be left there with zeros at its beginning.
    let hot = |(log, is_journal): &(PathBuf, bool)| match begins(log) {
        Ok(Some(first)) => !is_journal || first != 0,
        _ => false,
    };
    [(beside("-wal"), false), (beside("-journal"), true)].into_iter().find(hot).map(|(log, _)| log)
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
        let name = entry.file_name().to_string_lossy().into_owned();
        let named = name.contains(".sqlite") && !BESIDE.iter().any(|ending| name.ends_with(ending));
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
