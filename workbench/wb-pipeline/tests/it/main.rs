//! Rules for the project as a whole: its configs and its schema; and the mistakes in a YAML.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod configs;
mod schema;
#[path = "../../../wb-core/tests/house/tree.rs"]
mod tree;
mod yaml;
