//! Source code to documented functions: nineteen languages, one walk over a tree of sources, pairs of prose and code.
//!
//! [`read_tree`] is the way in for a folder or for Cargo's registry sources, [`documented_functions`] for one text,
//! [`anchor_prose`] for the doc comment alone, [`fn@chunks`] for functions and classes with or without documentation, [`items`] for where they lie. [`node_labels`] and [`type_labels`] say what can be asked about single tokens of code.

pub mod chunks;
pub mod documented;
pub mod labels;
pub mod languages;
pub mod notebook;
pub mod prose;
pub mod rewrites;
pub mod structure;
pub mod tree;

pub use chunks::{Chunk, ChunkKind, CodeItem, chunks, items, strip_comments};
pub use documented::{DocumentedFunction, documented_functions};
pub use labels::{NodeLabel, TypedName, node_kinds, node_labels, type_labels};
pub use languages::{CODE_LANGUAGES, CodeLanguage, FURTHER_LANGUAGES, Language, canonical_name};
pub use prose::{anchor_prose, split_docstring};
pub use rewrites::{Refusal, RewriteKind, Rewritten, rewrite};
pub use tree::{GroupBy, TreeConfig, TreeFile, TreeFiles, TreeRead, read_tree, tree_files, tree_fingerprint};
pub use wb_core::{Error, Result};
