//! Repositories of sets that ask each question at a commit, and the lines of such sets.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use super::{LoadedSet, Repository, read_json_lines};
use crate::{Error, Result, head_commit};

/// Repository of a question, as the question names it.
pub(super) struct AtCommit<'a> {
    /// Names by which its folder may be called, beside its own.
    pub ids: &'a [&'a str],
    /// Owner and name.
    pub name: &'a str,
    /// The commit that is asked about.
    pub commit: &'a str,
    /// Language, where the set has one.
    pub language: &'a str,
}

impl AtCommit<'_> {
    /// The folder below `corpora`: named by the question, or by the repository, with or without its commit.
    fn folder(&self, corpora: &Path) -> Option<PathBuf> {
        let name = self.name.rsplit('/').next().unwrap_or(self.name);
        let mut names: Vec<String> = self.ids.iter().map(|id| (*id).to_owned()).collect();
        let forms = [self.name.replace('/', "__"), self.name.replace('/', "+"), self.name.to_owned(), name.to_owned()];
        for form in forms {
            for digits in [40, 12, 10, 8, 7] {
                let commit = self.commit.get(..digits).unwrap_or(self.commit);
                names.extend(["@", "-", "_", "/"].map(|between| format!("{form}{between}{commit}")));
            }
            names.push(form);
        }
        let folders = names.into_iter().filter(|name| !name.is_empty()).map(|name| corpora.join(name));
        folders.filter(|folder| folder.is_dir()).find(|folder| self.is_at_commit(folder))
    }

    /// False for a checkout that says itself that it is of another commit.
    fn is_at_commit(&self, folder: &Path) -> bool {
        let head = folder.join(".git").exists().then(|| head_commit(folder)).flatten();
        head.is_none_or(|head| self.commit.is_empty() || head.starts_with(self.commit))
    }
}

impl LoadedSet {
    /// Position of a question's repository; none where its folder is not there.
    pub(super) fn position(&mut self, corpora: &Path, asked: &AtCommit<'_>) -> Option<usize> {
        let root = asked.folder(corpora)?;
        let known = self.repositories.iter().position(|known| known.root == root);
        Some(known.unwrap_or_else(|| {
            let (name, language) = (asked.name.to_owned(), asked.language.to_owned());
            self.repositories.push(Repository { name, language, root });
            self.repositories.len() - 1
        }))
    }
}

/// The lines of all files of a folder that end in `.jsonl`, in the order of their names.
pub(super) fn lines_of<T: DeserializeOwned>(folder: &Path) -> Result<Vec<T>> {
    let listing = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let mut files: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    let lines = files.iter().map(|path| read_json_lines(path)).collect::<Result<Vec<_>>>()?;
    Ok(lines.into_iter().flatten().collect())
}
