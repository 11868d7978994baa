//! Rules for the sources of all crates: names, comments, sizes, and which crate uses which.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod architectures;
mod doc_comments;
mod documents;
mod repeated_fields;
mod sources;
mod tidy;
mod tree;
mod type_names;
