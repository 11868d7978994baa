//! Labels of the tokens of code besides its meaning: kinds of syntax nodes, declared types.

mod nodes;
mod type_name;
mod types;

pub use nodes::{NodeLabel, node_kinds, node_labels};
pub(crate) use types::Typing;
pub use types::{TypedName, type_labels};
