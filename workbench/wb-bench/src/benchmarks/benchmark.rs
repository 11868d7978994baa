//! The trait of a benchmark: data in a folder, or pairs, to a plan of protocols.

use std::{collections::HashSet, path::Path};

use wb_core::{
    PairSet,
    fingerprint::Fingerprint,
    records::outcome::{AuditLine, NotRun},
};

use crate::{Result, protocols::PlannedProtocol, texts::BenchmarkTexts};

/// Description of a benchmark, for people and for `wb compare`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Card {
    /// Name of the benchmark, as on the command line: `codesearchnet`.
    pub name: &'static str,
    /// Measured quantity in a few words, for lists: `functions found by their documentation: MRR, NDCG`.
    pub measures: &'static str,
    /// Ids of its protocols, for lists; `*` ends one that stands for all that begin so.
    pub protocols: &'static [&'static str],
    /// Raised when what is measured changes; measurements of two versions are not compared.
    pub version: u32,
    /// The data.
    pub dataset: &'static str,
    /// Folder of `wb data get` for it, below the folder of data of others: `cosqa`; empty where it has no place of its
    /// own.
    pub place: &'static str,
    /// Licence of the data.
    pub licence: &'static str,
    /// The paper.
    pub paper: &'static str,
    /// Identifier to cite it by: `arXiv:...`, `doi:...`.
    pub citation: &'static str,
    /// Protocol and metric that a verdict is about, the first that was run. An id that ends with `-` stands for all
    /// protocols that begin so.
    pub main: &'static [(&'static str, &'static str)],
}

/// True where an id of [`Card::main`] stands for this protocol.
pub fn stands_for(id: &str, protocol: &str) -> bool {
    protocol == id || id.ends_with('-') && protocol.starts_with(id)
}

/// Place of a benchmark's data.
#[derive(Debug, Clone, Copy)]
pub enum BenchmarkData<'a> {
    /// Data in a folder.
    Folder(&'a Path),
    /// Pairs in memory.
    Pairs(&'a PairSet),
    /// A repository, of which some files were trained on.
    Repository {
        /// Its folder.
        folder: &'a Path,
        /// Paths below it of the files that were trained on.
        trained_on: &'a HashSet<String>,
    },
}

impl<'a> BenchmarkData<'a> {
    /// The folder, for a benchmark that needs one.
    pub fn folder(self, benchmark: &str) -> Result<&'a Path> {
        match self {
            Self::Folder(folder) | Self::Repository { folder, .. } if folder.is_dir() => Ok(folder),
            Self::Folder(folder) | Self::Repository { folder, .. } => {
                let source = std::io::Error::new(std::io::ErrorKind::NotFound, "no such folder");
                Err(wb_core::Error::io("read", folder)(source))
            }
            Self::Pairs(_) => {
                let message = "got pairs, expected a folder with its data";
                Err(wb_core::Error::value(format!("bench.{benchmark}.dataset"), message))
            }
        }
    }
}

/// Everything that is to be measured, ready for any number of contestants.
#[derive(Debug, Clone)]
pub struct BenchmarkPlan {
    /// The benchmark's card.
    pub card: &'static Card,
    /// Every text once.
    pub texts: BenchmarkTexts,
    /// Protocols in the order in which they are measured.
    pub protocols: Vec<PlannedProtocol>,
    /// Protocols that this data cannot give, with reasons.
    pub not_run: Vec<NotRun>,
    /// Remarks that a reader must know.
    pub warnings: Vec<String>,
    /// Counts that belong to the data itself.
    pub audit: Vec<AuditLine>,
    /// Settings that decide the numbers beside data and contestant: `text`, `split`.
    pub settings: Vec<(String, String)>,
    /// Fingerprint of the data read.
    pub dataset: Fingerprint,
}

impl BenchmarkPlan {
    /// An empty plan.
    pub fn new(card: &'static Card) -> Self {
        Self {
            card,
            texts: BenchmarkTexts::default(),
            protocols: Vec::new(),
            not_run: Vec::new(),
            warnings: Vec::new(),
            audit: Vec::new(),
            settings: Vec::new(),
            dataset: Fingerprint::of_bytes(&[]),
        }
    }

    /// Lists a protocol as not run.
    pub fn skip(&mut self, id: &str, reason: impl Into<String>) {
        self.not_run.push(NotRun { id: id.to_owned(), reason: reason.into() });
    }

    /// True where queries of some protocol rank a whole pool: what can be reranked, and written as a run.
    pub fn ranks_a_pool(&self) -> bool {
        self.protocols.iter().any(|planned| matches!(planned, PlannedProtocol::Ranked(_)))
    }

    /// Lists a setting.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.settings.push((name.to_owned(), value.to_string()));
    }
}

/// Data to a plan.
pub trait Benchmark {
    /// Description of the benchmark.
    fn card(&self) -> &'static Card;

    /// Refuses values that make no sense.
    fn validate(&self, key: &str) -> wb_core::Result<()>;

    /// True where a folder has files that [`Benchmark::plan`] would read, by their names alone: nothing is opened.
    fn is_in(&self, folder: &Path) -> Result<bool>;

    /// Reads the data and says what can be measured on it.
    fn plan(&self, dataset: BenchmarkData<'_>) -> Result<BenchmarkPlan>;
}
