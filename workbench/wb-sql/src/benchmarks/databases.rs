//! The databases of the questions, each with its hash; those that are not there are counted.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::ErrorKind,
    path::Path,
};

use wb_core::{
    Error as Refused, Progress,
    fingerprint::Fingerprint,
    records::sql::{HashedFile, SqlDatabases},
};

use super::{SendProgress, files};
use crate::{
    Result,
    execute::{Database, DatabaseSource, Error, databases},
};

/// Databases by id.
pub struct QuestionDatabases {
    there: BTreeMap<String, Vec<Database>>,
    missing: BTreeSet<String>,
}

/// Files of a database's folder that are its databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseFiles {
    /// All whose names contain `.sqlite`: Spider, and its test suites.
    All,
    /// `ID.sqlite`: BIRD.
    Named,
}

impl QuestionDatabases {
    /// Databases of the ids, under a folder.
    ///
    /// # Errors
    ///
    /// If one is there and cannot be read.
    pub fn open<'a>(
        root: &Path,
        ids: impl Iterator<Item = &'a str>,
        which: DatabaseFiles,
        progress: &mut SendProgress<'_>,
    ) -> Result<QuestionDatabases> {
        let ids: BTreeSet<&str> = ids.collect();
        let (mut there, mut missing) = (BTreeMap::new(), BTreeSet::new());
        for (at, id) in ids.iter().enumerate() {
            progress(Progress::new("hashing databases", at, ids.len()));
            let folder = root.join(id);
            let found = match which {
                DatabaseFiles::All => databases(&folder),
                DatabaseFiles::Named => Database::open(&folder.join(format!("{id}.sqlite"))).map(|one| vec![one]),
            };
            match found {
                Ok(found) => {
                    there.insert((*id).to_owned(), found);
                }
                Err(error) if is_missing(&error) => {
                    missing.insert((*id).to_owned());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(QuestionDatabases { there, missing })
    }

    /// True where one is there.
    pub fn is_any(&self) -> bool {
        !self.there.is_empty()
    }

    /// Refuses a folder in which there is none of them: nearly always it is another folder than was meant.
    pub fn refuse_none(&self, root: &Path, what: &str) -> Result<()> {
        if self.is_any() {
            return Ok(());
        }
        let message = format!("none of the databases of the questions is there ({})", self.shown());
        Err(Refused::data(root.display().to_string(), message).with_hint(what))
    }

    /// Some of the ids that are missing.
    fn shown(&self) -> String {
        let shown: Vec<&str> = self.missing.iter().take(5).map(String::as_str).collect();
        shown.join(", ") + if self.missing.len() > 5 { ", ..." } else { "" }
    }

    /// Sources on which the statements of a question run; none where its database is not there.
    pub fn sources(&self, id: &str) -> Vec<DatabaseSource> {
        self.there.get(id).map(|all| all.iter().map(Database::source).collect()).unwrap_or_default()
    }

    /// True where some id has several databases, as in a test suite.
    pub fn is_suite(&self) -> bool {
        self.there.values().any(|all| all.len() > 1)
    }

    /// One hash of all: of `ID/FILE HASH` lines in order.
    pub fn blake3(&self) -> Fingerprint {
        let line = |id: &str, one: &Database| format!("{id}/{} {}\n", files::name(Path::new(&one.path)), one.blake3);
        let lines = self.there.iter().flat_map(|(id, all)| all.iter().map(move |one| line(id, one)));
        Fingerprint::of_bytes(lines.collect::<String>().as_bytes())
    }

    /// The line of the text.
    pub fn line(&self, questions_without: usize) -> String {
        let count = self.there.values().map(Vec::len).sum::<usize>();
        let mut line = format!("databases   {count} of {} ids, blake3 {}", self.there.len(), self.blake3());
        if !self.missing.is_empty() {
            let (ids, shown) = (self.missing.len(), self.shown());
            line += &format!(
                "\nmissing     {ids} ids without a database ({shown}): {questions_without} questions have no ex"
            );
        }
        line
    }

    /// Names and hashes, for the record.
    pub(super) fn record(&self) -> SqlDatabases {
        let one = |database: &Database| HashedFile {
            file: files::name(Path::new(&database.path)),
            blake3: database.blake3.clone(),
        };
        let ids = self.there.iter().map(|(id, all)| (id.clone(), all.iter().map(one).collect())).collect();
        SqlDatabases { blake3: self.blake3(), ids, missing: self.missing.clone() }
    }
}

fn is_missing(error: &Error) -> bool {
    match error {
        Error::NoDatabase(_) => true,
        Error::Io { source, .. } => source.kind() == ErrorKind::NotFound,
        _ => false,
    }
}
