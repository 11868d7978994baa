//! Two text files whose lines belong together: a translation, line by line.

use std::{
    io::BufRead,
    path::{Path, PathBuf},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Pair, Progress, Task, fingerprint::Fingerprint};

use super::{
    files::{Input, fingerprint},
    gather::Gather,
    joined::code2code,
    jsonl::{Opened, check_line, open, read_error},
    source::{PairSource, SourceRead},
};
use crate::{Error, RecordPlace, Result};

/// Line n of one file is the anchor, line n of the other its positive.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParallelLinesConfig {
    /// A text file; line n is the anchor of pair n.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub anchors: PathBuf,
    /// A text file; line n is the positive of pair n.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub positives: PathBuf,
    /// The data set that its pairs belong to; without it, the source's kind and position.
    #[serde(default)]
    pub dataset: String,
    /// The language of the positives.
    #[serde(default)]
    pub language: String,
    /// The task of every pair.
    #[serde(default = "code2code")]
    pub task: Task,
}

impl ParallelLinesConfig {
    fn inputs(&self) -> Result<[Input; 2]> {
        Ok([Input::at(&self.anchors)?, Input::at(&self.positives)?])
    }
}

impl PairSource for ParallelLinesConfig {
    fn name(&self) -> String {
        format!("parallel_lines {}", self.anchors.display())
    }

    fn kind_and_dataset(&self) -> (&'static str, &str) {
        ("parallel_lines", &self.dataset)
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.anchors == self.positives {
            let message = format!("got {} for anchors and positives, expected two files", self.anchors.display());
            return Err(Error::value(format!("{key}.positives"), message));
        }
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint> {
        fingerprint(self, &self.inputs()?)
    }

    fn gather(&self, mut gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead> {
        let [left, right] = self.inputs()?;
        let mut files = (open(&left.path)?, open(&right.path)?);
        let mut number = 0;
        loop {
            if number % 4096 == 0 {
                files.0.tell(&left.path, progress);
            }
            number += 1;
            let lines = (line(&mut files.0, &left.path, number)?, line(&mut files.1, &right.path, number)?);
            let (anchor, positive) = match lines {
                (None, None) => break,
                (Some(anchor), Some(positive)) => (anchor, positive),
                (None, Some(_)) => return Err(ends_early(&left.path, &right.path, number)),
                (Some(_), None) => return Err(ends_early(&right.path, &left.path, number)),
            };
            let place = RecordPlace::line(&left.path, number);
            let checked = check_line(&place, &anchor).and_then(|(anchor, _)| {
                let (positive, _) = check_line(&RecordPlace::line(&right.path, number), &positive)?;
                Ok((anchor.to_owned(), positive.to_owned()))
            });
            match checked {
                Ok((anchor, positive)) => {
                    let pair =
                        Pair { anchor, positive, task: self.task, language: self.language.clone(), ..Pair::default() };
                    gather.push(pair, place, &left.stem)?;
                }
                Err(error) => gather.refuse(error)?,
            }
        }
        gather.finish(self.name(), self.fingerprint()?)
    }
}

fn line(file: &mut Opened, path: &Arc<Path>, number: usize) -> Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    match file.reader.read_until(b'\n', &mut line).map_err(|error| read_error(path, number, error))? {
        0 => Ok(None),
        _ => Ok(Some(line)),
    }
}

fn ends_early(short: &Arc<Path>, long: &Path, line: usize) -> Error {
    let message = format!("the file ends after line {}, expected as many lines as {}", line - 1, long.display());
    Error::record(RecordPlace::line(short, line), "no counterpart", message)
}
