//! Structure measured on what others wrote down: where names are defined, what is called.

mod pycg;
mod scip;
mod stack_graphs;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::{Error, Result};

/// A set of questions with answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructureSet {
    /// Assertions of stack-graphs' tests: the lines at which a name is defined.
    StackGraphs,
    /// PyCG's micro-benchmark: which functions each function of a program calls.
    PyCg,
    /// Projects with an `index.scip` each: what every name stands for.
    Scip,
    /// Projects with an `index.scip` each, which is read before anything is asked: every answer has to be its.
    ScipImported,
}

/// Result for one file or one program.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StructureCase {
    /// Path below the data set's folder.
    #[serde(rename = "id")]
    pub name: String,
    /// Language, or the kind of program.
    pub category: String,
    /// Number of those that should be there and are.
    pub right: usize,
    /// Number of what should be there.
    pub expected: usize,
    /// Number of answers.
    pub answered: usize,
    /// Number of answers that should be there.
    pub answered_right: usize,
    /// Answers that were called exact and are not there.
    pub exact_wrong: usize,
    /// A line for each answer that is not as it should be.
    pub wrong: Vec<String>,
}

impl StructureSet {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::StackGraphs, Self::PyCg, Self::Scip, Self::ScipImported];

    /// The name in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StackGraphs => "stack-graphs",
            Self::PyCg => "pycg",
            Self::Scip => "scip",
            Self::ScipImported => "scip-imported",
        }
    }

    /// Asks all questions of a data set's folder, in the order of their paths.
    pub fn measure(self, folder: &Path) -> Result<Vec<StructureCase>> {
        let cases = match self {
            Self::StackGraphs => stack_graphs::measure(folder)?,
            Self::PyCg => pycg::measure(folder)?,
            Self::Scip => scip::measure(folder, false)?,
            Self::ScipImported => scip::measure(folder, true)?,
        };
        match cases.is_empty() {
            true => Err(Error::file(folder, format!("has no questions of {}", self.name()))
                .with_hint("unpack the archive of the set into it")),
            false => Ok(cases),
        }
    }
}

/// Paths of all files below a folder, in order.
fn files_below(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).map_err(Error::io("read", &at))? {
            let entry = entry.map_err(Error::io("read", &at))?;
            let kind = entry.file_type().map_err(Error::io("read", &at))?;
            match (kind.is_dir(), kind.is_file()) {
                (true, _) => open.push(entry.path()),
                (_, true) => _ = found.insert(entry.path()),
                _ => {}
            }
        }
    }
    Ok(found)
}
