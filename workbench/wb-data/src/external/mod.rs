//! Data sets of others: fetched from where they are published, converted, and put where benchmarks and recipes read them.
//!
//! [`catalog()`] lists them. [`get()`] makes one under `datasets/external/`: each of its folders appears whole or not at
//! all, with a record of where it comes from in [`RECORD`].

mod catalog;
mod conversions;
mod entry;
mod fetch;
mod get;
mod record;
mod state;

#[cfg(test)]
mod tests;

pub use catalog::{catalog, find, records_at, that_brings};
pub use conversions::{
    Annotations, AsItIs, Beir, ColumnContent, ColumnField, Conversion, ConversionCounts, Docstrings, OutputFile, Rows,
    Unzip,
};
pub use entry::{DataSetFolder, Entry, ServedFiles, Server, WantedFile};
pub use fetch::MIRROR;
pub use get::{Done, FetchRequest, FolderOutcome, ToCome, get, to_come};
pub use record::{FetchRecord, RECORD, Taken};
pub use state::{FolderState, bytes_of, state};
