//! Reads data files with errors that name file and line, and fingerprints everything that was read.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use wb_core::fingerprint::{Fingerprint, FingerprintBuilder};

use crate::{Error, Result};

/// The files of one data folder, read one after the other.
pub struct Files {
    root: PathBuf,
    fingerprint: FingerprintBuilder,
}

impl Files {
    /// Files under a folder.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), fingerprint: Fingerprint::builder() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Fingerprint of every file read so far: its place under the folder and its (unpacked) content.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint.finish()
    }

    /// A whole text file; `.gz` is unpacked. A byte-order mark at the beginning is dropped.
    pub fn text(&mut self, path: &Path) -> Result<String> {
        let mut bytes = Vec::new();
        let mut file = File::open(path).map_err(Error::io("read", path))?;
        let read = if path.extension().is_some_and(|extension| extension == "gz") {
            MultiGzDecoder::new(file).read_to_end(&mut bytes)
        } else {
            file.read_to_end(&mut bytes)
        };
        read.map_err(Error::io("read", path))?;
        let place = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        self.fingerprint.text(&place).bytes(&bytes);
        let mut text = String::from_utf8(bytes).map_err(|error| {
            let upto = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..upto].iter().filter(|byte| **byte == b'\n').count();
            Error::at(path, line, "not UTF-8")
        })?;
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Ok(text)
    }

    /// Takes a file into the fingerprint that somebody else reads.
    pub fn note(&mut self, path: &Path) -> Result<()> {
        let place = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        self.fingerprint.text(&place).text(Fingerprint::of_file(path)?.as_str());
        Ok(())
    }

    /// The records of a JSON-lines file with their line numbers; empty lines are passed over.
    pub fn json_lines<T: DeserializeOwned>(&mut self, path: &Path) -> Result<Vec<(usize, T)>> {
        let text = self.text(path)?;
        let mut records = Vec::new();
        // Not `lines()`: a carriage return inside a JSON text is escaped, so only line feeds end a record.
        for (index, line) in text.split('\n').enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let record = serde_json::from_str(line).map_err(|source| {
                let message = if source.is_eof() { "the record is cut off" } else { "not a record as expected" };
                Error::at(path, index + 1, message).with_cause(source)
            })?;
            records.push((index + 1, record));
        }
        Ok(records)
    }

    /// A file that is one JSON value.
    pub fn json<T: DeserializeOwned>(&mut self, path: &Path) -> Result<T> {
        let text = self.text(path)?;
        serde_json::from_str(&text).map_err(|source| Error::file(path, "not JSON as expected").with_cause(source))
    }

    /// The rows of a CSV table with a header.
    pub fn table<T: DeserializeOwned>(&mut self, path: &Path) -> Result<Vec<T>> {
        let text = self.text(path)?;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        reader
            .deserialize()
            .collect::<Result<Vec<T>, csv::Error>>()
            .map_err(|source| Error::file(path, "not a CSV table with a header").with_cause(source))
    }
}

/// The error of a folder that has none of the files of a benchmark.
pub fn no_layout(folder: &Path, benchmark: &str, expected: &str) -> Error {
    Error::file(folder, format!("no data of benchmark {benchmark} found"))
        .with_hint(format!("expected one of: {expected}"))
}

/// The entries of a folder in the order of their names; nothing where the folder is not there.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = fs::read_dir(folder)
        .and_then(|found| found.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>())
        .map_err(Error::io("read", folder))?;
    paths.sort();
    Ok(paths)
}

/// `NAME` or `NAME.gz` in a folder, whichever is there.
pub fn plain_or_packed(folder: &Path, name: &str) -> Option<PathBuf> {
    [name.to_owned(), format!("{name}.gz")].into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// A folder's or file's name in lower case.
pub fn lower_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn errors_name_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let check = |content: &[u8], expected: &str| {
            fs::write(&path, content).unwrap();
            let error = Files::new(folder.path()).json_lines::<serde_json::Value>(&path).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(b"{\"a\": 1}\n{\"a\": ", "a.jsonl:2: the record is cut off");
        check(b"{}\n\n{\"a\": x}\n", "a.jsonl:3: not a record as expected");
        check(b"{}\n{}\n\"\xff\"\n", "a.jsonl:3: not UTF-8");
    }

    #[test]
    fn packed_files_are_the_same_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl.gz");
        let mut packer = flate2::write::GzEncoder::new(File::create(&path).unwrap(), flate2::Compression::fast());
        packer.write_all(b"{\"a\": 1}\n{\"a\": 2}\n").unwrap();
        packer.finish().unwrap();
        let mut files = Files::new(folder.path());
        let records: Vec<(usize, serde_json::Value)> = files.json_lines(&path).unwrap();
        assert_eq!(records.len(), 2);
        assert_eq!(records[1], (2, serde_json::json!({"a": 2})));
    }
}
