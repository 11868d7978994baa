//! The choice among ways from published files to a folder that readers know.

mod annotations;
mod as_it_is;
mod beir;
mod conversion;
mod docstrings;
mod lines;
mod rows;
mod unzip;

use std::path::Path;

use serde::Serialize;
use wb_core::Progress;

pub use annotations::Annotations;
pub use as_it_is::AsItIs;
pub use beir::Beir;
pub use conversion::ConversionCounts;
pub(super) use conversion::{Convert, Input, Inputs};
pub use docstrings::Docstrings;
pub use rows::{ColumnContent, ColumnField, OutputFile, Rows};
pub use unzip::Unzip;

use crate::Result;

/// A way from published files to a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversion {
    /// The files themselves.
    AsItIs(AsItIs),
    /// Rows of Parquet files as JSON lines.
    Rows(Rows),
    /// Parquet files as a folder in BEIR's layout.
    Beir(Beir),
    /// An archive's files.
    Unzip(Unzip),
    /// Python functions with docstrings, out of one line each.
    Docstrings(Docstrings),
    /// Judged functions, looked up among CodeSearchNet's.
    Annotations(Annotations),
}

impl Conversion {
    fn member(&self) -> &dyn Convert {
        match self {
            Self::AsItIs(member) => member,
            Self::Rows(member) => member,
            Self::Beir(member) => member,
            Self::Unzip(member) => member,
            Self::Docstrings(member) => member,
            Self::Annotations(member) => member,
        }
    }

    /// Writes the folder's files into `into`; gives what was written and, by its reason, what was left out.
    pub(super) fn convert(
        &self,
        inputs: &Inputs<'_>,
        into: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ConversionCounts> {
        self.member().convert(inputs, into, progress)
    }

    /// Refuses to begin where something is missing on this disk that has to be fetched by another name.
    pub(super) fn ready(&self, external: &Path) -> Result<()> {
        self.member().ready(external)
    }

    /// Lists what else on this disk goes into the folder.
    pub(super) fn beside(&self, external: &Path) -> Result<Vec<String>> {
        self.member().beside(external)
    }
}
