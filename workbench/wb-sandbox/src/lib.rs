//! A made-up project of its own for each test of the command, and the command run in it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

pub mod machine;
mod made_up;
mod results;
mod sandbox;
pub mod storage;

#[cfg(unix)]
pub use results::killed_ends_in_the_same_bytes;
pub use results::{assert_same, result};
#[cfg(unix)]
pub use sandbox::send;
pub use sandbox::{Sandbox, TINY, TRANSFORMER, has, told, without_seconds};
