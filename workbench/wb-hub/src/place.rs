//! Files at plain addresses, outside of any repository of the hub.

use std::path::PathBuf;

/// A file at an address, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebFile {
    /// `https://...`
    pub url: String,
    /// The file to write.
    pub to: PathBuf,
    /// Bytes, where they are known before.
    pub size: Option<u64>,
    /// SHA-256 in hex, where it is known.
    pub sha256: Option<String>,
}
