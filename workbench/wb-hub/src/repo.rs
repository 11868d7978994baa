//! Names of repositories, with and without a revision, and repositories at a commit.

use std::fmt;

use wb_core::{Error, Result};

/// A repository's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RepoKind {
    /// A model.
    Model,
    /// A data set.
    Dataset,
}

impl RepoKind {
    /// The plural that stands in addresses, in the cache and in lock files.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Dataset => "datasets",
        }
    }

    /// Another way to the same work, without the hub.
    pub(crate) fn elsewhere(self) -> &'static str {
        match self {
            Self::Dataset => "name a file on this disk with a `jsonl` or `parquet` source",
            Self::Model => "name a folder with config.json, model.safetensors and tokenizer.json",
        }
    }

    fn of_hub(self) -> hf_hub::RepoType {
        match self {
            Self::Model => hf_hub::RepoType::Model,
            Self::Dataset => hf_hub::RepoType::Dataset,
        }
    }
}

/// A repository as a person names it: `owner/name`, or `owner/name@revision` with a branch, a tag or a commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepoRef {
    /// Model or data set.
    pub kind: RepoKind,
    /// `owner/name`.
    pub id: String,
    /// A branch, a tag or a commit of 40 hex digits; none for the main branch.
    pub revision: Option<String>,
}

/// The branch that a name without a revision means.
const MAIN: &str = "main";

impl RepoRef {
    /// A repository by its id and, unless it is empty, its revision; `key` is the config path of both.
    pub fn new(kind: RepoKind, id: &str, revision: &str, key: &str) -> Result<Self> {
        let named = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        if id.split('/').count() != 2 || !id.split('/').all(named) {
            return Err(Error::value(key, format!("got `{id}`, expected `owner/name`")));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
        let is_ref = revision.chars().all(fits)
            && !revision.split('/').any(|part| part.is_empty() || part.starts_with('.') || part.ends_with('.'));
        if !revision.is_empty() && !is_ref {
            let message = format!("got revision `{revision}`, expected a branch, a tag or a commit");
            return Err(Error::value(key, message).with_hint("without one, the main branch is meant"));
        }
        let revision = Some(revision).filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Self { kind, id: id.to_owned(), revision })
    }

    /// The commit, where the revision is one: 40 hex digits.
    pub fn commit(&self) -> Option<&str> {
        self.revision.as_deref().filter(|revision| is_commit(revision))
    }

    /// The branch, tag or commit that is meant.
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or(MAIN)
    }

    /// Its name in a lock file: `models/owner/name@main`.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}@{}", self.kind.plural(), self.id, self.revision())
    }

    /// Pins the repository to a commit.
    pub(crate) fn at(&self, commit: &str) -> Pinned {
        Pinned { kind: self.kind, id: self.id.clone(), commit: commit.to_owned() }
    }

    pub(crate) fn of_hub(&self) -> hf_hub::Repo {
        hf_hub::Repo::with_revision(self.id.clone(), self.kind.of_hub(), self.revision().to_owned())
    }
}

impl fmt::Display for RepoRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.revision {
            Some(revision) => write!(f, "{}@{revision}", self.id),
            None => f.write_str(&self.id),
        }
    }
}

/// A repository at a commit: always the same files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pinned {
    /// Model or data set.
    pub kind: RepoKind,
    /// `owner/name`.
    pub id: String,
    /// 40 hex digits.
    pub commit: String,
}

impl Pinned {
    pub(crate) fn of_hub(&self) -> hf_hub::Repo {
        hf_hub::Repo::with_revision(self.id.clone(), self.kind.of_hub(), self.commit.clone())
    }
}

impl fmt::Display for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.id, self.commit.get(..12).unwrap_or(&self.commit))
    }
}

/// True where a text is a commit's name: 40 lower-case hex digits, as git writes them.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_and_revisions_told_apart() {
        let model = |id: &str, revision: &str| RepoRef::new(RepoKind::Model, id, revision, "encoder");
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(model("o/n", commit).unwrap().commit(), Some(commit));
        assert_eq!(model("o/n", "").unwrap().revision(), "main");
        assert_eq!(model("o/n", "v1.0").unwrap().key(), "models/o/n@v1.0");
        assert_eq!(model("o/n", "refs/convert/parquet").unwrap().commit(), None);
        for (id, revision) in [
            ("n", ""),
            ("a/b/c", ""),
            ("../n", ""),
            ("o/", ""),
            ("o/n m", ""),
            ("o/n", "a b"),
            ("o/n", "../x"),
            ("o/n", "/x"),
            ("o/n", "x?y"),
        ] {
            let error = model(id, revision).unwrap_err().to_string();
            assert!(error.starts_with("encoder: got "), "{id} {revision}: {error}");
        }
    }
}
