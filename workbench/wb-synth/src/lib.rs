//! Training pairs from a local language model, from rules, and from what lies around.

pub mod annotate;
pub mod snippet;
pub mod snippets;

pub use snippet::Snippet;
