//! The choice among sources of pairs.

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
pub mod python_doc;
mod scores;
mod source;
pub mod texts;

use serde::{Deserialize, Serialize};
use wb_core::{Progress, fingerprint::Fingerprint};

pub use code_map::CodeMapConfig;
pub use fields::{AnchorPart, Fields, Nulls, PositivePart, Shape};
pub use files::FilesConfig;
pub use gather::Gather;
pub use hub::HubConfig;
pub use intake::{Intake, MAX_BAD_SHARE, OnBad, Tolerance};
pub use joined::{JoinedConfig, JoinedSide};
pub(crate) use jsonl::open;
pub use parallel_lines::ParallelLinesConfig;
pub(crate) use parquet::{batches, columns, value};
pub use source::{Source, SourceRead};

use crate::Result;
use files::Format;

/// Where pairs come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceConfig {
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
}

impl SourceConfig {
    /// Refuses values that make no sense; `key` is the config path of this entry.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        match self {
            Self::Jsonl(files) => files.validate(&format!("{key}.jsonl")),
            Self::Parquet(files) => files.validate(&format!("{key}.parquet")),
            Self::Csv(files) => files.validate(&format!("{key}.csv")),
            Self::ParallelLines(lines) => lines.validate(&format!("{key}.parallel_lines")),
            Self::Joined(joined) => joined.validate(&format!("{key}.joined")),
            Self::CodeMap(map) => map.validate(&format!("{key}.code_map")),
            Self::Hub(hub) => hub.validate(&format!("{key}.hub")),
        }
    }

    fn files(&self) -> std::result::Result<(&FilesConfig, Format), &dyn Source> {
        match self {
            Self::Jsonl(files) => Ok((files, Format::Jsonl)),
            Self::Parquet(files) => Ok((files, Format::Parquet)),
            Self::Csv(files) => Ok((files, Format::Csv)),
            Self::ParallelLines(lines) => Err(lines),
            Self::Joined(joined) => Err(joined),
            Self::CodeMap(map) => Err(map),
            Self::Hub(hub) => Err(hub),
        }
    }
}

impl Source for SourceConfig {
    fn name(&self) -> String {
        match self.files() {
            Ok((files, format)) => format!("{} {}", format.name(), files.path.display()),
            Err(source) => source.name(),
        }
    }

    fn fingerprint(&self) -> Result<Fingerprint> {
        match self.files() {
            Ok((config, format)) => files::fingerprint(config, &files::list(&config.path, format)?.0),
            Err(source) => source.fingerprint(),
        }
    }

    fn gather(&self, gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead> {
        match self.files() {
            Ok((config, format)) => files::read(config, format, gather, progress),
            Err(source) => source.gather(gather, progress),
        }
    }
}
