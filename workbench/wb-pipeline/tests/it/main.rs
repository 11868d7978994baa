//! Rules for the project as a whole: its configs and its schema.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod configs;
mod schema;
#[path = "../../../wb-core/tests/house/tree.rs"]
mod tree;
