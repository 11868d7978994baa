//! The choice among ways from published files to a folder that readers know.

mod annotations;
mod as_it_is;
mod beir;
mod conversion;
mod docstrings;
mod lines;
mod rows;
mod unzip;

use serde::Serialize;

pub use annotations::Annotations;
pub use as_it_is::AsItIs;
pub use beir::Beir;
pub use conversion::ConversionCounts;
pub(super) use conversion::{Convert, Input, Inputs};
pub use docstrings::Docstrings;
pub use rows::{ColumnContent, ColumnField, OutputFile, Rows};
pub use unzip::Unzip;

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
    /// The way itself.
    pub(super) fn member(&self) -> &dyn Convert {
        match self {
            Self::AsItIs(member) => member,
            Self::Rows(member) => member,
            Self::Beir(member) => member,
            Self::Unzip(member) => member,
            Self::Docstrings(member) => member,
            Self::Annotations(member) => member,
        }
    }
}
