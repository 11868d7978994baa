//! Schema linking: which tables, columns and values of a database the words of a question mean.

pub(crate) mod cues;
mod links;
mod names;

pub use links::{ColumnMention, Links, Literal, Purpose, TableMention, ValueMention};
