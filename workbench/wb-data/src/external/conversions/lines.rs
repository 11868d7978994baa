//! Files that are written line by line, packed where their names end in `.gz`, and whole or not at all.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use serde::Serialize;
use wb_core::{Error, atomic};

use crate::Result;

/// A file that is being written.
pub(super) struct Lines<'a> {
    to: &'a mut dyn Write,
    path: &'a Path,
    /// Lines so far.
    pub(super) n: u64,
}

impl Lines<'_> {
    /// A value as a line of JSON.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(value).map_err(|error| Error::io("write", self.path)(error.into()))?;
        self.text(&line)
    }

    /// A line of text.
    pub(super) fn text(&mut self, line: &str) -> Result<()> {
        let written = self.to.write_all(line.as_bytes()).and_then(|()| self.to.write_all(b"\n"));
        written.map_err(Error::io("write", self.path))?;
        self.n += 1;
        Ok(())
    }
}

/// Writes a file's lines; gives how many.
pub(super) fn write(path: &Path, fill: impl FnOnce(&mut Lines<'_>) -> Result<()>) -> Result<u64> {
    let mut filled: Result<u64> = Ok(0);
    let written = atomic::write_with(path, |file| {
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut packer = BufWriter::with_capacity(1 << 16, GzEncoder::new(file, Compression::default()));
            filled = fill_in(&mut packer, path, fill);
            packer.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
        } else {
            let mut writer = BufWriter::with_capacity(1 << 16, file);
            filled = fill_in(&mut writer, path, fill);
            writer.flush()?;
        }
        match filled {
            Ok(_) => Ok(()),
            // The reason is told below.
            Err(_) => Err(io::Error::other("nothing to write")),
        }
    });
    let n = filled?;
    written?;
    Ok(n)
}

fn fill_in(to: &mut dyn Write, path: &Path, fill: impl FnOnce(&mut Lines<'_>) -> Result<()>) -> Result<u64> {
    let mut lines = Lines { to, path, n: 0 };
    fill(&mut lines)?;
    Ok(lines.n)
}
