//! Files and folders that appear whole or not at all.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use crate::{Error, Result};

/// Writes a file so that a reader, or a crash, sees the old content or the new, never a part:
/// a temporary file beside it, flushed to the disk, renamed, and the folder flushed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// [`write()`] for content that is made piece by piece.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<()> {
    let folder = parent(path);
    fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    let temporary = temporary_name(path);
    let filled = File::create(&temporary)
        .and_then(|mut file| fill(&mut file).and_then(|()| file.sync_all()))
        .map_err(Error::io("write", path))
        .and_then(|()| fs::rename(&temporary, path).map_err(Error::io("rename", path)));
    if filled.is_err() {
        // Nothing half-written stays behind; the first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    filled?;
    sync_folder(&folder)
}

/// Makes a folder appear whole: `fill` writes into a temporary folder beside it, which is renamed when all is written.
/// A folder that is already there is an error.
pub fn folder_with<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let above = parent(path);
    fs::create_dir_all(&above).map_err(Error::io("create", &above))?;
    let temporary = temporary_name(path);
    fs::create_dir_all(&temporary).map_err(Error::io("create", &temporary))?;
    let filled = fill(&temporary).and_then(|()| {
        sync_folder(&temporary)?;
        fs::rename(&temporary, path).map_err(Error::io("rename", path))?;
        Ok(())
    });
    if filled.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    filled?;
    Ok(sync_folder(&above)?)
}

/// Flushes a folder's entries to the disk.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(Error::io("write", folder))
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn temporary_name(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, b"old").unwrap();
        let failed = write_with(&path, |file| {
            file.write_all(b"half")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_folder_does_not_appear() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let failed: Result<()> = folder_with(&path, |inside| {
            fs::write(inside.join("a"), b"x").map_err(Error::io("write", inside))?;
            Err(Error::data("here", "no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
