//! Databases as rules see them: tables, columns and keys with their words, and the texts that stand in them.

mod catalog;
mod cells;
mod created;
mod entry;

pub use catalog::{CatalogColumn, CatalogTable, Catalogs, ColumnKind, SchemaCatalog};
pub use cells::{Cells, MOST_TEXTS};
