//! The hashes by which a repository names its files' contents.

use std::{fs::File, io::Read, path::Path};

use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use wb_core::{Error, Result};

/// A file's content, by a hash in hex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Digest {
    /// SHA-256 of the content: large files.
    Sha256(String),
    /// Git's name of a blob, SHA-1 of `blob LENGTH\0` and the content: small files.
    Git(String),
}

impl Digest {
    /// The hash in hex; the name of the file in the cache's `blobs`, and the server's ETag.
    pub fn hex(&self) -> &str {
        match self {
            Self::Sha256(hex) | Self::Git(hex) => hex,
        }
    }

    /// Hashes a file in the same way.
    pub fn of_same_kind(&self, path: &Path) -> Result<Self> {
        let read = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let mut file = File::open(path).map_err(read)?;
        Ok(match self {
            Self::Sha256(_) => Self::Sha256(hex_of(Sha256::new(), &mut file).map_err(read)?),
            Self::Git(_) => {
                let length = file.metadata().map_err(read)?.len();
                let head = Sha1::new_with_prefix(format!("blob {length}\0"));
                Self::Git(hex_of(head, &mut file).map_err(read)?)
            }
        })
    }
}

fn hex_of<D: sha2::Digest>(mut hash: D, file: &mut File) -> std::io::Result<String> {
    let mut piece = vec![0; 1 << 18];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            n => hash.update(&piece[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_git_and_sha256sum_print() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hello\n").unwrap();
        let git = Digest::Git(String::new()).of_same_kind(file.path()).unwrap();
        assert_eq!(git.hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
        let sha = Digest::Sha256(String::new()).of_same_kind(file.path()).unwrap();
        assert_eq!(sha.hex(), "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
    }
}
