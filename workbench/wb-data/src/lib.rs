//! Pairs: read, cleaned, deduplicated, split, audited, balanced and kept.
//!
//! [`external`] fetches data sets of others; [`sources`] reads pairs out of them; [`mod@prepare`] turns what was read into
//! train, validation and test with a data card that accounts for every pair; [`store`] keeps the result as Parquet.
//! Arrow, Parquet and the hub are known here and nowhere else.

pub mod balance;
pub mod card;
mod chunks;
mod clean;
pub mod content;
pub mod dedupe;
pub mod external;
pub mod filter;
mod gate;
pub mod judge;
pub mod leak;
pub mod minhash;
mod near;
pub mod negative_table;
pub mod parts;
mod place;
pub mod prepare;
mod rows;
pub mod sources;
pub mod split;
pub mod store;
pub mod streaming;
pub mod text;
pub mod text_table;
pub mod trivial;
pub mod vector_table;

pub use judge::Judge;
pub use place::RecordPlace;
pub use prepare::{PrepareConfig, PreparedPairs, merge, prepare, prepare_with};
pub use rows::parquet_rows;
pub use sources::{OnBad, PairSource, SourceConfig, SourceRead, Tolerance};
pub use wb_core::{Error, Result};
