//! What holds for the project as a whole: its configs, its crates, its files.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod architectures;
mod configs;
mod doc_comments;
mod documents;
mod repeated_fields;
mod schema;
mod tidy;
mod type_names;
