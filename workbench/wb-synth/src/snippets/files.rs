//! Files of a folder by their endings, in the order of their paths, read as text or refused with the line.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{
    Origin,
    paths::walk,
    remote::{self, RemoteCopy},
};

use super::{
    Error, Result,
    source::{Take, bad},
};

/// Unit that must not be split between training and test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileGroup {
    /// Every file by itself.
    #[default]
    File,
    /// The first folder of the path; a file beside the folders is a group by itself.
    TopFolder,
    /// All files together.
    One,
}

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TextFile {
    /// Path below the folder, with `/`; a file's own name where a file was given.
    pub(super) relative: String,
    pub(super) absolute: PathBuf,
}

impl TextFile {
    /// The group of the file and its path in it.
    pub(super) fn origin(&self, group: FileGroup, root: &Path) -> Origin {
        let (group, path) = match (group, self.relative.split_once('/')) {
            (FileGroup::TopFolder, Some((top, rest))) => (top.to_owned(), rest.to_owned()),
            (FileGroup::One, _) => {
                let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                (name, self.relative.clone())
            }
            _ => (self.relative.clone(), self.name().to_owned()),
        };
        Origin { group, path, ..Origin::default() }
    }

    /// The name without its folders.
    pub(super) fn name(&self) -> &str {
        self.relative.rsplit('/').next().unwrap_or_default()
    }

    /// The name without its ending.
    pub(super) fn stem(&self) -> &str {
        self.name().rsplit_once('.').map_or(self.name(), |(stem, _)| stem)
    }

    /// `file:line` for messages.
    pub(super) fn line(&self, line: usize) -> String {
        format!("{}:{line}", self.absolute.display())
    }

    /// The text; nothing where the file is left out or bad, which `take` has been told.
    pub(super) fn read(&self, max_bytes: u64, take: &mut Take<'_>) -> Result<Option<String>> {
        let size = fs::metadata(&self.absolute).map_err(Error::io("read", &self.absolute))?.len();
        if size > max_bytes {
            take.leave_out("file over max_file_bytes", 1);
            return Ok(None);
        }
        let bytes = fs::read(&self.absolute).map_err(Error::io("read", &self.absolute))?;
        take.file();
        match self.text(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => take.bad(error).map(|()| None),
        }
    }

    fn text(&self, bytes: Vec<u8>) -> Result<String> {
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Err(bad(self.line(1), "bad UTF-8", "the file is UTF-16, expected UTF-8"));
        }
        let mut text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
            let byte = error.as_bytes().get(at).copied().unwrap_or_default();
            bad(self.line(line), "bad UTF-8", format!("byte {byte:#04x} is not UTF-8"))
        })?;
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Ok(text)
    }
}

/// The files of a path that end in one of `endings` (with their dot, in any case), in the order of their relative
/// paths; hidden files and folders aside, links to folders not followed. A file that is named is taken whatever its ending.
pub(super) fn list(path: &Path, endings: &[&str], take: &mut Take<'_>) -> Result<Vec<TextFile>> {
    let ends_so = |name: &str| endings.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
    let RemoteCopy { path, mut others } = remote::local_of(path, &ends_so)?;
    let path = &path;
    if !fs::metadata(path).map_err(Error::io("read", path))?.is_dir() {
        let relative = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(vec![TextFile { relative, absolute: path.to_owned() }]);
    }
    let mut files = Vec::new();
    walk(path, &mut |absolute| {
        let inside = absolute.strip_prefix(path).unwrap_or(&absolute);
        let relative = inside.iter().map(OsStr::to_str).collect::<Option<Vec<_>>>().map(|parts| parts.join("/"));
        match relative {
            None => take.leave_out("path that is not UTF-8", 1),
            Some(relative) if ends_so(&relative) => files.push(TextFile { relative, absolute }),
            Some(_) => others += 1,
        }
    })?;
    if files.is_empty() {
        return Err(Error::failed(format!(
            "{}: no file ends in {} ({others} others are there)",
            path.display(),
            endings.join(", ")
        ))
        .with_hint("check `path:`"));
    }
    take.leave_out("file of another kind", others);
    files.sort_unstable();
    Ok(files)
}

/// Refuses a path that is not given and a size of 0.
pub(super) fn validate(path: &Path, max_file_bytes: u64, key: &str) -> wb_core::Result<()> {
    if path.as_os_str().is_empty() {
        return Err(Error::value(format!("{key}.path"), "got nothing, expected a file or a folder"));
    }
    if max_file_bytes == 0 {
        return Err(Error::value(format!("{key}.max_file_bytes"), "got 0, expected 1 or more"));
    }
    Ok(())
}
