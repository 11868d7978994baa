//! Engines, ledger and client together: against a server that fails on purpose, and against a real one.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod client;
mod faults;
mod killed;
mod ledger;
mod real;
mod server;
mod sidecar;
mod support;
