//! Training pairs from a local language model, from rules, and from what lies around.

pub mod rules;
pub mod snippet;

pub use snippet::Snippet;
