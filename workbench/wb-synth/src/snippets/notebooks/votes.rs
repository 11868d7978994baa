//! Only notebooks that people voted for: a CSV table beside them says how many did.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use csv::StringRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Origin, remote, suggest};

use super::super::{
    Error, Result,
    files::TextFile,
    source::{Take, bad},
};

/// A table of votes and which of its columns say what. The defaults are those of Meta Kaggle's `Kernels.csv` with
/// notebooks that are named by the version of their kernel, and the ten votes of the recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VotesConfig {
    /// The CSV file, with a header line.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: PathBuf,
    /// The column that names the notebook.
    pub key_column: String,
    /// Part of the notebook's path that stands in `key_column`.
    pub key: VoteKey,
    /// The column with the number of votes.
    pub votes_column: String,
    /// Notebooks with fewer votes are left out, and so are those that the table does not have.
    pub min_votes: f64,
    /// The column with the license; nothing for none.
    pub license_column: String,
    /// The column with what must not be split (the author); nothing for the notebook's own group.
    pub group_column: String,
}

impl Default for VotesConfig {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            key_column: "CurrentKernelVersionId".into(),
            key: VoteKey::Stem,
            votes_column: "TotalVotes".into(),
            min_votes: 10.0,
            license_column: String::new(),
            group_column: String::new(),
        }
    }
}

/// Name of a notebook in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VoteKey {
    /// The file's name without `.ipynb`.
    #[default]
    Stem,
    /// The file's name.
    FileName,
    /// The path below the folder.
    Path,
}

impl VoteKey {
    fn of(self, file: &TextFile) -> &str {
        match self {
            Self::Stem => file.stem(),
            Self::FileName => file.name(),
            Self::Path => &file.relative,
        }
    }
}

/// The row of one notebook.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Known {
    votes: f64,
    license: String,
    group: String,
}

impl Known {
    pub(super) fn tell(&self, origin: &mut Origin) {
        if !self.license.is_empty() {
            origin.license.clone_from(&self.license);
        }
        if !self.group.is_empty() {
            origin.group.clone_from(&self.group);
        }
    }
}

/// The rows of the notebooks that are there.
pub(super) struct Votes<'c> {
    config: &'c VotesConfig,
    known: HashMap<String, Known>,
}

impl Votes<'_> {
    /// The row of a notebook with enough votes, else the reason why it is left out.
    pub(super) fn of(&self, file: &TextFile) -> Result<&Known, String> {
        match self.known.get(self.config.key.of(file)) {
            None => Err("notebook that the table of votes does not have".into()),
            Some(known) if known.votes < self.config.min_votes => {
                Err(format!("notebook under {} votes", self.config.min_votes))
            }
            Some(known) => Ok(known),
        }
    }
}

impl VotesConfig {
    pub(super) fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.path.as_os_str().is_empty() {
            return Err(Error::value(format!("{key}.path"), "got nothing, expected a CSV file"));
        }
        for (name, column) in [("key_column", &self.key_column), ("votes_column", &self.votes_column)] {
            if column.trim().is_empty() {
                return Err(Error::value(format!("{key}.{name}"), "got nothing, expected the name of a column"));
            }
        }
        if !self.min_votes.is_finite() {
            return Err(Error::value(format!("{key}.min_votes"), "expected a number that is finite"));
        }
        Ok(())
    }

    /// Reads the rows of these notebooks row by row: the table may have a million others. Of two rows of one notebook
    /// the one with more votes counts.
    pub(super) fn read(&self, files: &[TextFile], take: &mut Take<'_>) -> Result<Votes<'_>> {
        let mut known: HashMap<String, Known> = HashMap::new();
        let wanted: std::collections::HashSet<&str> = files.iter().map(|file| self.key.of(file)).collect();
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_path(remote::local(&self.path)?)
            .map_err(|error| not_csv(&self.path, &error))?;
        let header = reader.headers().map_err(|error| not_csv(&self.path, &error))?.clone();
        let key = self.column(&header, &self.key_column)?;
        let votes = self.column(&header, &self.votes_column)?;
        let optional = |name: &String| if name.is_empty() { Ok(None) } else { self.column(&header, name).map(Some) };
        let (license, group) = (optional(&self.license_column)?, optional(&self.group_column)?);
        let mut row = StringRecord::new();
        loop {
            match reader.read_record(&mut row) {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) if matches!(error.kind(), csv::ErrorKind::Utf8 { .. }) => {
                    take.bad(not_csv(&self.path, &error))?;
                    continue;
                }
                Err(error) => return Err(not_csv(&self.path, &error)),
            }
            let Some(name) = row.get(key).map(str::trim).filter(|name| wanted.contains(name)) else { continue };
            let cell = |column: Option<usize>| column.and_then(|at| row.get(at)).unwrap_or_default().trim().to_owned();
            let line = row.position().map_or(1, |position| position.line());
            let given = cell(Some(votes));
            let Some(votes) = given.parse::<f64>().ok().filter(|votes| votes.is_finite()) else {
                let place = format!("{}:{line}", self.path.display());
                let message = format!("column `{}` is `{given}`, expected a number", self.votes_column);
                take.bad(bad(place, "no number of votes", message))?;
                continue;
            };
            let new = Known { votes, license: cell(license), group: cell(group) };
            let old = known.entry(name.to_owned()).or_insert_with(|| new.clone());
            if old.votes < new.votes {
                *old = new;
            }
        }
        Ok(Votes { config: self, known })
    }

    fn column(&self, header: &StringRecord, name: &str) -> Result<usize> {
        let names: Vec<&str> = header.iter().map(|name| name.trim_start_matches('\u{feff}').trim()).collect();
        names.iter().position(|column| *column == name).ok_or_else(|| {
            let message = format!("no column `{name}`, the table has {}", names.join(", "));
            Error::at(&self.path, 1, message).with_hint_if(suggest::hint(name, names.iter().copied()))
        })
    }
}

fn not_csv(path: &Path, error: &csv::Error) -> Error {
    let line = error.position().map_or(1, |position| position.line());
    match error.kind() {
        csv::ErrorKind::Io(io) => Error::io("read", path)(std::io::Error::new(io.kind(), io.to_string())),
        csv::ErrorKind::Utf8 { .. } => bad(format!("{}:{line}", path.display()), "bad UTF-8", "a row is not UTF-8"),
        _ => Error::at(path, line, format!("not CSV: {error}")),
    }
}
