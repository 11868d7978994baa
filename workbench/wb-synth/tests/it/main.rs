//! The whole chain with a scripted model: a deterministic function of the question.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod called;
mod chain;
mod dry_run;
mod files;
mod support;
