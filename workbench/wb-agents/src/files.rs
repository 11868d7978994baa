//! Configuration files as they are read and written: through links, whole, with the rights that they had.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use wb_core::{Error, Result, atomic};

use crate::{
    blocks,
    entry::{HeldEntry, ServerEntry, TakenOut},
    fault::TextFault,
    places::ConfigFormat,
    toml,
};

/// Bytes that no configuration has.
const MOST: u64 = 256 << 20;
/// Links that are followed from one to the next.
const LINKS: usize = 32;

/// A file's text, and the place that it is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// The file behind links, where a path is one.
    pub target: PathBuf,
    /// Its text, if it is there.
    pub text: Option<String>,
}

impl FileText {
    /// Reads a file that may be missing.
    pub fn read(path: &Path) -> Result<Self> {
        let target = behind_links(path)?;
        let found = match fs::metadata(&target) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self { target, text: None }),
            found => found.map_err(Error::io("read", path))?,
        };
        if !found.is_file() || found.len() > MOST {
            return Err(Error::file(path, format!("a file of at most {MOST} bytes was expected")));
        }
        let bytes = fs::read(&target).map_err(Error::io("read", path))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let hint = "save the file as UTF-8, and give the same command again";
            let valid = String::from_utf8_lossy(&error.as_bytes()[..at]).into_owned();
            TextFault::new(at, "bytes that are no UTF-8", hint).of_file(path, &valid)
        })?;
        Ok(Self { target, text: Some(text) })
    }

    /// Writes a text to the file's place, as one that was read before, with its rights.
    pub fn write(&self, text: &str) -> Result<()> {
        let rights = fs::metadata(&self.target).ok().map(|found| found.permissions());
        atomic::write_with(&self.target, |file| {
            rights.map_or(Ok(()), |rights| file.set_permissions(rights))?;
            file.write_all(text.as_bytes())
        })
        .map_err(|error| atomic::full(error, text.len()))
    }

    /// An error where the file must not be written.
    pub fn check_writable(&self) -> Result<()> {
        let is_kept = fs::metadata(&self.target).is_ok_and(|found| found.permissions().readonly());
        if !is_kept {
            return Ok(());
        }
        Err(Error::file(&self.target, "the file may not be written")
            .with_hint("something else makes it, or somebody guards it: add the server there, or allow writing"))
    }
}

/// The path that a chain of links ends in, whether there is a file or not.
fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..LINKS {
        let Ok(link) = fs::read_link(&place) else { return Ok(place) };
        place = place.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(Error::file(path, "links that go round in a circle"))
}

impl ConfigFormat {
    /// The entry of our name.
    pub fn held(self, text: &str, command: &str) -> Result<HeldEntry, TextFault> {
        match self {
            Self::Json(servers) => servers.held(text, command),
            Self::Toml => toml::held(text, command),
        }
    }

    /// The text with `entry`, or nothing where it is there already. Whatever is put in anew can be taken out to the byte.
    pub fn put(
        self,
        text: Option<&str>,
        folder_is_new: bool,
        entry: &ServerEntry,
    ) -> Result<Option<String>, TextFault> {
        let with = match self {
            Self::Json(servers) => servers.put(text, folder_is_new, entry)?,
            Self::Toml => toml::put(text, folder_is_new, entry)?,
        };
        let Some(with) = with else { return Ok(None) };
        let before = text.map(|text| self.held(text, &entry.command)).transpose()?;
        let is_new = before.is_none_or(|before| before == HeldEntry::Absent);
        if self.held(&with, &entry.command)? != HeldEntry::Ours(entry.clone())
            || is_new && self.take_out(&with, &entry.command)? != expected(text, folder_is_new)
        {
            return Err(inexact());
        }
        Ok(Some(with))
    }

    /// The text without our entry.
    pub fn take_out(self, text: &str, command: &str) -> Result<TakenOut, TextFault> {
        let taken = match self {
            Self::Json(servers) => servers.take_out(text, command)?,
            Self::Toml => toml::take_out(text, command)?,
        };
        match &taken {
            TakenOut::Rest(rest) if self.held(rest, command)? != HeldEntry::Absent => Err(inexact()),
            _ => Ok(taken),
        }
    }
}

/// The text with our block of instructions, or nothing where it is there already.
pub fn put_block(text: Option<&str>, folder_is_new: bool) -> Result<Option<String>, TextFault> {
    let with = blocks::put(text, folder_is_new)?;
    if let Some(with) = &with
        && !text.is_some_and(blocks::has_block)
        && blocks::take_out(with)? != expected(text, folder_is_new)
    {
        return Err(inexact());
    }
    Ok(with)
}

/// Result of taking out what was put into a text.
fn expected(text: Option<&str>, folder_is_new: bool) -> TakenOut {
    match text {
        Some(text) => TakenOut::Rest(text.to_owned()),
        None => TakenOut::File { folders: folder_is_new },
    }
}

fn inexact() -> TextFault {
    TextFault::new(0, "the file cannot be changed so that every other byte stays", "change it by hand")
}
