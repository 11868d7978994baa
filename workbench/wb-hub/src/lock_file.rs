//! The lock file: which commit each name of a repository has been taken for, so that it stays the same tomorrow.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use wb_core::{Error, lock::FileLock, run_dir};

use crate::{Result, repo::is_commit};

/// Its name, in the folder of runs.
pub const LOCK_FILE: &str = "hub.lock";

/// A name's commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// 40 hex digits.
    pub commit: String,
    /// Time at which it was asked for, RFC 3339, UTC.
    pub resolved: String,
}

/// A lock file on the disk.
#[derive(Debug, Clone)]
pub struct LockFile {
    path: PathBuf,
}

/// All of it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// Names and their commits: `models/owner/name@main`.
    repositories: BTreeMap<String, Locked>,
}

impl LockFile {
    /// The lock file of a folder of runs; it need not be there yet.
    pub fn of_runs(runs: &Path) -> Self {
        Self { path: runs.join(LOCK_FILE) }
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The commit of a name, if the file knows it.
    pub fn get(&self, key: &str) -> Result<Option<String>> {
        Ok(self.read()?.repositories.remove(key).map(|locked| locked.commit))
    }

    /// Takes a name's commit, unless another process has done so before: then that one's. Gives the one that holds.
    /// `waiting` is told which process writes the file meanwhile.
    pub fn take(&self, key: &str, commit: &str, waiting: impl FnOnce(&str)) -> Result<String> {
        // Several processes may learn names at once, and none of them may be forgotten.
        let _guard = FileLock::wait(&self.path.with_file_name(".hub.lock.guard"), waiting)?;
        let mut content = self.read()?;
        let resolved = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let entry = content.repositories.entry(key.to_owned());
        let held = entry.or_insert_with(|| Locked { commit: commit.to_owned(), resolved }).commit.clone();
        run_dir::write_json(&self.path, &content)?;
        Ok(held)
    }

    fn read(&self) -> Result<Content> {
        if !self.path.is_file() {
            return Ok(Content::default());
        }
        let hint = "it is written by wb; take the line out, or remove the file, and names are asked for again";
        let content: Content = run_dir::read_json(&self.path).map_err(|error| error.with_hint(hint))?;
        if let Some((key, locked)) = content.repositories.iter().find(|(_, locked)| !is_commit(&locked.commit)) {
            let message = format!("`{key}` has commit `{}`, expected 40 hex digits", locked.commit);
            return Err(Error::data(self.path.display().to_string(), message).with_hint(hint));
        }
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    #[test]
    fn the_first_commit_stays() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::of_runs(&folder.path().join("runs"));
        assert_eq!(lock.get("models/o/n@main").unwrap(), None);
        let take = |key: &str, commit: &str| lock.take(key, commit, |_| {}).unwrap();
        assert_eq!(take("models/o/n@main", ONE), ONE);
        assert_eq!(take("models/o/n@main", TWO), ONE);
        assert_eq!(take("datasets/o/n@main", TWO), TWO);
        assert_eq!(lock.get("models/o/n@main").unwrap().as_deref(), Some(ONE));
    }

    #[test]
    fn names_that_are_learned_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::of_runs(folder.path());
        std::thread::scope(|scope| {
            for at in 0..8 {
                let lock = &lock;
                scope.spawn(move || {
                    for n in 0..8 {
                        lock.take(&format!("models/o/n{at}-{n}@main"), ONE, |_| {}).unwrap();
                    }
                });
            }
        });
        assert_eq!(lock.read().unwrap().repositories.len(), 64);
    }

    #[test]
    fn a_file_that_is_none_is_refused_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::of_runs(folder.path());
        for text in ["{", "{\"repositories\": {\"models/o/n@main\": {\"commit\": \"main\", \"resolved\": \"\"}}}"] {
            fs::write(lock.path(), text).unwrap();
            let error = lock.get("models/o/n@main").unwrap_err();
            assert!(error.to_string().contains("hub.lock"), "{error}");
            assert!(error.hint().is_some(), "{error:?}");
        }
    }
}
