//! Agents' configurations on a made-up machine: a home folder, a project, and what is in them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod fixtures;
mod forms;
mod home;
mod instructions;
mod plans;
mod properties;
mod states;
