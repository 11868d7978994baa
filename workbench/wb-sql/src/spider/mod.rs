//! Spider's SQL: its schemas, its tokens, its grammar.

mod aliases;
mod error;
mod lexer;
mod numbers;
mod parser;
mod query;
mod schema;
mod sentences;
mod skeleton;
mod tokens;
mod words;

pub use error::ParseError;
pub use parser::{MAX_DEPTH, parse};
pub use query::{
    Aggregate, Arithmetic, ColumnUnit, ComparedValue, ComparisonOperator, Condition, Connector, Order, SetOperator,
    SqlQuery, TableUnit, Term, ValueUnit,
};
pub use schema::{DatabaseSchema, DatabaseSchemas, ForeignKey, ListedTables, Name, TablesEntry};
pub use skeleton::{aggregate, comparison, skeleton};
pub use tokens::tokenize;

use std::borrow::Cow;

use crate::Compat;

/// A prediction as it is judged.
///
/// The published evaluator replaces every `value` by `1`, wherever it stands, since some systems wrote that word for
/// literals that they did not predict; a column named `home_value` is lost by it. `Strict` does not.
pub fn prediction(sql: &str, compat: Compat) -> Cow<'_, str> {
    match compat {
        Compat::Official if sql.contains("value") => Cow::Owned(sql.replace("value", "1")),
        _ => Cow::Borrowed(sql),
    }
}
