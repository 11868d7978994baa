//! The choice among sources of pairs.

mod code;
mod code_map;
mod csv;
mod fields;
mod files;
mod gather;
pub mod hub;
mod intake;
mod joined;
mod json_array;
mod jsonl;
mod parallel_lines;
mod parquet;
mod parts;
mod record;
pub mod row_ranges;
mod scores;
mod source;
pub mod texts;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::TreeConfig;
use wb_core::{Pair, Progress, fingerprint::Fingerprint};

pub use code_map::CodeMapConfig;
pub(crate) use fields::Shape;
pub use fields::{AnchorPart, Fields, Nulls, PositivePart};
pub use files::FilesConfig;
pub(crate) use files::Item;
pub use gather::Gather;
pub use hub::{HubConfig, HubFiles};
pub use intake::{Intake, MAX_BAD_SHARE, OnBad, Tolerance};
pub use joined::{JoinedConfig, JoinedSide};
pub(crate) use jsonl::open;
pub use parallel_lines::ParallelLinesConfig;
pub(crate) use parquet::{batches, columns, records as parquet_records, value};
pub use parts::{PartBytes, SourcePart};
pub use record::Mapped;
pub use source::{PairSource, SourceRead};

use crate::Result;
use files::{Files, Format};

/// A source of pairs.
///
/// `Other` reads examples of a text-to-SQL data set, whose schemas and queries a crate above this one knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceConfig<Other> {
    /// Documented functions of a source tree; without a path, of the crates in Cargo's registry sources.
    Code(TreeConfig),
    /// JSON lines or one JSON array, plain or gzipped.
    Jsonl(FilesConfig),
    /// Rows of Parquet files.
    Parquet(FilesConfig),
    /// CSV with a header line; `query,pos,neg` without any `fields`.
    Csv(FilesConfig),
    /// Two text files, line by line.
    ParallelLines(ParallelLinesConfig),
    /// Two files of records joined by a key.
    Joined(JoinedConfig),
    /// A JSON object of Python functions (CoSQA's `code_idx_map.txt`).
    CodeMap(CodeMapConfig),
    /// Files of a Hugging Face data set.
    Hub(HubConfig),
    /// Questions and queries of a text-to-SQL data set in Spider's layout.
    TextToSql(Other),
}

impl<Other: PairSource> SourceConfig<Other> {
    /// A file of pairs with the usual names of fields; its suffix says the format.
    pub fn of_file(path: &Path) -> wb_core::Result<Self> {
        let files = FilesConfig { path: path.to_owned(), ..Default::default() };
        match Format::of(path) {
            Some(Format::Jsonl) => Ok(Self::Jsonl(files)),
            Some(Format::Parquet) => Ok(Self::Parquet(files)),
            Some(Format::Csv) => Ok(Self::Csv(files)),
            None => Err(wb_core::Error::data(path.display().to_string(), "expected a file of pairs: .jsonl, .json, .parquet or .csv")
                .with_hint("for other names of fields, other layouts and whole folders: `bench.benchmarks` with `sources` in a YAML")),
        }
    }

    /// Refuses values that make no sense; `key` is the config path of the entry, without its kind.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.with(|source| source.validate(&format!("{key}.{}", source.kind_and_dataset().0)))
    }

    /// Returns the kind and place, for tables: `jsonl data/train.jsonl`.
    pub fn name(&self) -> String {
        self.with(|source| source.name())
    }

    /// Returns the fingerprint of the config and of all content that would be read; nothing is parsed.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        self.with(|source| source.fingerprint())
    }

    /// The data set that pairs of the source at a position belong to, and whether the source names it.
    /// One without a name is called by its kind and its position from 1, as in `jsonl-2`.
    pub fn dataset(&self, at: usize) -> (String, bool) {
        self.with(|source| match source.kind_and_dataset() {
            (kind, "") => (format!("{kind}-{}", at + 1), false),
            (_, name) => (name.to_owned(), true),
        })
    }

    /// True for records with fields of their own, which may name a data set each.
    pub fn records_name_datasets(&self) -> bool {
        matches!(self, Self::Jsonl(_) | Self::Parquet(_) | Self::Csv(_) | Self::Hub(_))
    }

    /// True for texts without labels: records that have no positive.
    pub fn has_texts(&self) -> bool {
        match self {
            Self::Jsonl(files) | Self::Parquet(files) | Self::Csv(files) => files.fields.positive.is_none(),
            Self::Hub(hub) => hub.fields.positive.is_none(),
            _ => false,
        }
    }

    /// Reads everything; `at` is the source's position among all, which names the data set of its pairs.
    pub fn read(
        &self,
        at: usize,
        tolerance: impl Into<Tolerance>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<SourceRead> {
        let mut gather = Gather::new(tolerance.into(), self.dataset(at));
        gather.texts = self.has_texts();
        self.with(|source| source.gather(gather, progress))
    }

    /// Gives every pair to `take`, in order; an error of `take` ends it. The answer has no pairs.
    /// Files of records are read record by record; other sources may hold all of theirs in memory.
    pub fn each(
        &self,
        at: usize,
        tolerance: impl Into<Tolerance>,
        take: &mut dyn FnMut(Pair) -> Result<()>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<SourceRead> {
        let mut gather = Gather::new(tolerance.into(), self.dataset(at));
        gather.take = Some(take);
        gather.texts = self.has_texts();
        self.with(|source| source.gather(gather, progress))
    }

    fn with<T>(&self, ask: impl FnOnce(&dyn PairSource) -> T) -> T {
        match self {
            Self::Code(tree) => ask(tree),
            Self::Jsonl(config) => ask(&Files { config, format: Format::Jsonl }),
            Self::Parquet(config) => ask(&Files { config, format: Format::Parquet }),
            Self::Csv(config) => ask(&Files { config, format: Format::Csv }),
            Self::ParallelLines(lines) => ask(lines),
            Self::Joined(joined) => ask(joined),
            Self::CodeMap(map) => ask(map),
            Self::Hub(hub) => ask(hub),
            Self::TextToSql(other) => ask(other),
        }
    }
}
