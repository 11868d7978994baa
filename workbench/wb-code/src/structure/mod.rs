//! Meaning of names in code: definitions, usages, calls, over files and languages.
//!
//! Each language writes its files down in one small language of scopes, bindings and values ([`FileStructure`]), which a
//! [`Solver`] asks. After Creager and van Antwerpen, "Stack Graphs: Name Resolution at Scale" (2023), for what a name
//! stands for, and Salis et al., "PyCG: Practical Call Graph Generation in Python" (2021), for what a call may call; other
//! than these, both are one search, and methods know the call that made their object.

mod builder;
mod bytes;
mod exact;
pub mod file;
mod lazy;
mod lower;
mod modules;
mod project;
pub mod scip;
pub mod sets;
mod solve;
mod standard;
mod symbols;
mod tables;
#[cfg(test)]
mod tests;

pub use exact::ExactNames;
pub use file::FileStructure;
pub use lazy::{LazyStructure, StructureHead, StructureSource};
pub use lower::{lowers_by_rules, structure_of};
pub use project::{Project, SETTINGS, StructuredFile};
pub use sets::{StructureCase, StructureSet};
pub use solve::{Definition, DefinitionStep, EdgeClass, Solver};
pub use symbols::FileSymbols;
