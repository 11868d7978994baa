//! Records of steps and validations, one JSON object a line, in order and never half a line.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, atomic, faults};

/// A file of records that is only added to.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

#[derive(Deserialize)]
struct StepOf {
    step: u64,
}

impl Journal {
    /// Opens a journal and takes out what stands after `last`, the step that training goes on from: those
    /// steps come again. A line that was cut off by a crash is taken out too; `None` takes out everything.
    /// Gives the number of records left and the step of the last.
    pub fn open(path: &Path, last: Option<u64>) -> Result<(Self, u64, Option<u64>)> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        let (mut length, mut records, mut newest) = (0, 0, None);
        for (number, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let Some(last) = last.filter(|_| line.ends_with(b"\n")) else { break };
            let record: StepOf = serde_json::from_slice(line).map_err(|error| {
                Error::data(format!("{}:{}", path.display(), number + 1), format!("not a record: {error}"))
            })?;
            if record.step > last {
                break;
            }
            length += line.len() as u64;
            records += 1;
            newest = Some(record.step);
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(Error::io("write", path))?;
        file.set_len(length).map_err(Error::io("write", path))?;
        Ok((Self { path: path.to_owned(), file }, records, newest))
    }

    /// Adds a record. A reader sees all of its line or nothing but for the last moment of a crash.
    pub fn append(&mut self, record: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(record)
            .map_err(|error| Error::data(self.path.display().to_string(), error.to_string()))?;
        line.push(b'\n');
        let written = faults::point().and_then(|()| self.file.write_all(&line));
        written.map_err(Error::io("write", &self.path)).map_err(|error| atomic::full(error, line.len()))
    }

    /// Makes sure that all records are on the disk, before a checkpoint counts on them.
    pub fn sync(&self) -> Result<()> {
        faults::point().and_then(|()| self.file.sync_data()).map_err(Error::io("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn later_steps_and_torn_lines_are_taken_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/metrics.jsonl");
        let (mut journal, records, _) = Journal::open(&path, None).unwrap();
        assert_eq!(records, 0);
        for step in 1..=4 {
            journal.append(&json!({"step": step})).unwrap();
        }
        journal.sync().unwrap();
        drop(journal);
        fs::write(&path, format!("{}{{\"step\": 5, \"lo", fs::read_to_string(&path).unwrap())).unwrap();
        let (journal, records, newest) = Journal::open(&path, Some(9)).unwrap();
        drop(journal);
        assert_eq!((records, newest), (4, Some(4)));
        let (mut journal, records, newest) = Journal::open(&path, Some(2)).unwrap();
        assert_eq!((records, newest), (2, Some(2)));
        journal.append(&json!({"step": 3})).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
        assert_eq!(Journal::open(&path, None).unwrap().1, 0);
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn a_line_that_is_no_record_is_an_error_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        fs::write(&path, "{\"step\": 1}\nnonsense\n").unwrap();
        let error = Journal::open(&path, Some(9)).unwrap_err().to_string();
        assert!(error.contains("metrics.jsonl:2: not a record"), "{error}");
    }
}
