//! Rules for the project as a whole: its pages.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod documents;
