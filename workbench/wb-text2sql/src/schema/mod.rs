//! Databases as rules see them: tables, columns and keys with their words, and the texts that stand in them.

mod catalog;
mod cells;
mod created;
mod entry;

pub use catalog::{Catalog, Catalogs, Column, ColumnKind, Table};
pub use cells::{Cells, MOST_TEXTS};
