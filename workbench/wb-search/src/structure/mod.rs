//! Structure of a project: what is defined where, who uses it, who calls whom.

mod graph;
mod store;
mod usages;

pub use graph::{ProjectGraph, SymbolPlace};
pub(crate) use store::StructureStore;
pub use usages::{CalledSymbol, Caller, SymbolUsage};
