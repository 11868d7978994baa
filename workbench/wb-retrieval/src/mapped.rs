//! Files that are read where the system keeps them, without a copy.

use std::{path::Path, sync::Arc};

pub use tantivy::directory::OwnedBytes as MappedBytes;
use tantivy::directory::{Directory, MmapDirectory};
use wb_core::atomic;

use crate::{Error, Result};

/// Maps a file. Whoever writes such a file replaces it whole: what is mapped stays as it was then.
pub fn map_file(path: &Path) -> Result<MappedBytes> {
    let other = |error: &dyn std::fmt::Display| std::io::Error::other(error.to_string());
    std::fs::metadata(path).map_err(Error::io("read", path))?;
    let folder = &atomic::parent(path);
    let name = path.file_name().map(Path::new).unwrap_or(path);
    let folder = MmapDirectory::open(folder).map_err(|error| Error::io("open", folder)(other(&error)))?;
    let file = folder.get_file_handle(name).map_err(|error| Error::io("map", path)(other(&error)))?;
    // Of what is mapped: another file may have been put in its place since it was looked for.
    Arc::clone(&file).read_bytes(0..file.len()).map_err(Error::io("map", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_as_it_was_when_it_was_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for text in ["", "some text"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(map_file(&path).unwrap().as_slice(), text.as_bytes());
        }
        let before = map_file(&path).unwrap();
        wb_core::atomic::write(&path, b"other").unwrap();
        assert_eq!((before.as_slice(), map_file(&path).unwrap().as_slice()), (&b"some text"[..], &b"other"[..]));
        assert!(map_file(&folder.path().join("gone")).unwrap_err().to_string().contains("cannot read"));
    }
}
