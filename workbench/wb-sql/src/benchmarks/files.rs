//! Text files that people wrote: where they are not there, or are no text, file and line are told.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use wb_core::{Error, fingerprint::Fingerprint, records::sql::HashedFile, remote};

use crate::Result;

/// A file's text, without a byte order mark. `what` says what it should be, where it is not there.
pub fn read(path: &Path, what: &str) -> Result<String> {
    let bytes = fs::read(remote::local(path)?).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::file(path, "there is no such file").with_hint(what),
        _ => Error::io("read", path)(error),
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count();
        Error::at(path, line, "not UTF-8").with_hint("save the file as UTF-8")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// A folder that has to be there.
pub fn folder(path: &Path, what: &str) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let message = if path.exists() { "not a folder" } else { "there is no such folder" };
    Err(Error::file(path, message).with_hint(what))
}

/// Refuses a file that could not be written when all is done: told before anything is judged. Folders on its way that
/// are not there will be made. `option` is what named it.
pub fn writable(path: &Path, option: &str) -> Result<()> {
    if remote::is_remote(path) {
        return Ok(());
    }
    let hint = || format!("{option} OUT is a file that will be written, or replaced");
    if path.is_dir() {
        return Err(Error::file(path, "a folder, not a file").with_hint(hint()));
    }
    let above = path.ancestors().skip(1).find(|above| above.as_os_str().is_empty() || above.exists());
    let above = above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !above.is_dir() {
        let message = format!("cannot be written: {} is not a folder", above.display());
        return Err(Error::file(path, message).with_hint(hint()));
    }
    let probe = wb_core::atomic::temporary_name(&above.join("wb"));
    fs::File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(Error::io("write in", above))?;
    Ok(())
}

/// Name and hash of a file, for the record.
pub(super) fn hashed(path: &Path) -> Result<HashedFile> {
    Ok(HashedFile { file: name(path), blake3: Fingerprint::of_file(path)? })
}

/// The last part of a path.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A file that was named by the user: as seen from here, else from the folder of the data.
pub fn within(folder: &Path, given: &Path) -> PathBuf {
    if given.exists() || !folder.join(given).exists() { given.to_owned() } else { folder.join(given) }
}
