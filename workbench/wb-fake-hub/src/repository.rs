//! Repositories with their files, hashed as the real hub hashes them.

use std::{fmt::Write, fs, io, path::Path};

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Files of at least so many bytes are large: they have a SHA-256 and come from another host.
const LARGE: usize = 4096;

/// Access to a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Open,
    /// Readers have this token; to all others it does not exist.
    Private(String),
    /// Readers have this token; all others are told of the terms.
    Gated(String),
}

/// A file of a repository.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    /// Git's name of the content.
    pub(crate) oid: String,
    /// SHA-256, of large files.
    pub(crate) sha256: Option<String>,
}

/// A repository at a commit.
pub(crate) struct Repository {
    /// `models` or `datasets`.
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) commit: String,
    pub(crate) files: Vec<File>,
    pub(crate) access: Access,
}

impl File {
    pub(crate) fn new(path: &str, bytes: Vec<u8>) -> Self {
        let mut git = Sha1::new_with_prefix(format!("blob {}\0", bytes.len()));
        git.update(&bytes);
        let is_large = bytes.len() >= LARGE;
        let sha256 = is_large.then(|| hex(&Sha256::digest(&bytes)));
        Self { path: path.to_owned(), oid: hex(&git.finalize()), sha256, bytes }
    }

    /// The name of its content in headers.
    pub(crate) fn etag(&self) -> &str {
        self.sha256.as_deref().unwrap_or(&self.oid)
    }
}

impl Repository {
    pub(crate) fn new(kind: &str, id: &str, mut files: Vec<File>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut all = Sha1::new();
        for file in &files {
            all.update(format!("{} {}\n", file.path, file.oid));
        }
        let commit = hex(&all.finalize());
        Self { kind: kind.to_owned(), id: id.to_owned(), commit, files, access: Access::Open }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// All files of a folder with their paths from it.
pub(crate) fn read_folder(folder: &Path, before: &str, files: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        if path.is_dir() {
            read_folder(&path, &format!("{name}/"), files)?;
        } else {
            files.push((name, fs::read(path)?));
        }
    }
    Ok(())
}
