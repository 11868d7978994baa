//! The cache on this disk, in the layout of `huggingface_hub`: `models--owner--name/{blobs,refs,snapshots}`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use wb_core::run_dir;
#[cfg(feature = "network")]
use wb_core::{Error, atomic, faults, lock::FileLock};

#[cfg(feature = "network")]
use crate::Result;
use crate::{Listing, Pinned, RemoteFile, RepoRef, repo::is_commit};

/// The cache's folder.
#[derive(Debug, Clone)]
pub(crate) struct Cache(PathBuf);

impl Cache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// The folder of a repository's files at a commit, as they are named there.
    pub(crate) fn snapshot(&self, repo: &Pinned) -> PathBuf {
        hf_hub::Cache::new(self.0.clone()).repo(repo.of_hub()).pointer_path(&repo.commit)
    }

    /// A file at a commit, if it is there.
    pub(crate) fn file(&self, repo: &Pinned, path: &str) -> Option<PathBuf> {
        Some(self.snapshot(repo).join(path)).filter(|path| path.is_file())
    }

    /// True where a listed file is there, with its size.
    pub(crate) fn has(&self, repo: &Pinned, file: &RemoteFile) -> bool {
        let found = self.file(repo, &file.path).and_then(|path| fs::metadata(path).ok());
        found.is_some_and(|found| found.len() == file.size)
    }

    /// Path of a file's content, named by its hash.
    pub(crate) fn blob(&self, repo: &Pinned, hash: &str) -> PathBuf {
        self.of(repo).join("blobs").join(hash)
    }

    /// Bytes of a listed file that an earlier download left.
    pub(crate) fn begun(&self, repo: &Pinned, file: &RemoteFile) -> u64 {
        let part = part_of(&self.blob(repo, file.digest.hex()));
        fs::metadata(part).map_or(0, |part| part.len().min(file.size))
    }

    fn of(&self, repo: &Pinned) -> PathBuf {
        self.0.join(repo.of_hub().folder_name())
    }

    /// The commit that this cache last knew a branch or tag by; Python's client writes it too.
    pub(crate) fn known_commit(&self, repo: &RepoRef) -> Option<String> {
        let file = self.0.join(repo.of_hub().folder_name()).join("refs").join(repo.revision());
        fs::read_to_string(file).ok().map(|text| text.trim().to_owned()).filter(|text| is_commit(text))
    }

    /// Keeps the commit of a branch or tag, for Python's client.
    #[cfg(feature = "network")]
    pub(crate) fn remember(&self, repo: &RepoRef, commit: &str) -> Result<()> {
        let of_repo = hf_hub::Cache::new(self.0.clone()).repo(repo.of_hub());
        of_repo.create_ref(commit).map_err(Error::io("write", self.0.join(repo.of_hub().folder_name())))
    }

    /// The listing that was kept of a commit; it never changes.
    pub(crate) fn listing(&self, repo: &Pinned) -> Option<Listing> {
        // One that cannot be read is asked for again.
        run_dir::read_json(&self.listing_path(repo)).ok()
    }

    #[cfg(feature = "network")]
    pub(crate) fn keep_listing(&self, repo: &Pinned, listing: &Listing) -> Result<()> {
        run_dir::write_json(&self.listing_path(repo), listing)
    }

    fn listing_path(&self, repo: &Pinned) -> PathBuf {
        self.of(repo).join("wb-listings").join(format!("{}.json", repo.commit))
    }

    /// Holds a file's content for this process, as Python's client does, so that two never write one part. `waiting` is
    /// told which process holds it already.
    #[cfg(feature = "network")]
    pub(crate) fn hold(&self, repo: &Pinned, hash: &str, waiting: impl FnOnce(&str)) -> Result<FileLock> {
        let folder = self.0.join(".locks").join(repo.of_hub().folder_name());
        FileLock::wait(&folder.join(format!("{hash}.lock")), waiting)
    }

    /// Names a content as a file of a commit.
    #[cfg(feature = "network")]
    pub(crate) fn link(&self, repo: &Pinned, file: &RemoteFile) -> Result<()> {
        let path = self.snapshot(repo).join(&file.path);
        let folder = path.parent().unwrap_or(&self.0).to_owned();
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let blob = self.blob(repo, file.digest.hex());
        let up = "../".repeat(2 + file.path.matches('/').count());
        let relative = PathBuf::from(format!("{up}blobs/{}", file.digest.hex()));
        if self.has(repo, file) && fs::read_link(&path).is_ok_and(|to| to == relative) {
            return Ok(());
        }
        // Whoever reads meanwhile sees the old name or the new one, never none. Nobody else writes: the content is held.
        let new = atomic::temporary_name(&path);
        faults::point().and_then(|()| link(&relative, &blob, &new)).map_err(Error::io("write", &path))?;
        let renamed = atomic::rename(&new, &path);
        if renamed.is_err() {
            // The next attempt has a name of its own.
            let _ = fs::remove_file(&new);
        }
        renamed
    }
}

/// The unfinished download of a file.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".incomplete");
    path.with_file_name(name)
}

#[cfg(all(unix, feature = "network"))]
fn link(relative: &Path, _: &Path, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(relative, path)
}

/// Gives the file two names, as links need a privilege here.
#[cfg(all(not(unix), feature = "network"))]
fn link(_: &Path, blob: &Path, path: &Path) -> std::io::Result<()> {
    fs::hard_link(blob, path).or_else(|_| fs::copy(blob, path).map(|_| ()))
}
