//! Engines, ledger and client together: against a server that fails on purpose, and against a real one.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod canaries;
mod client;
mod collector;
mod controls;
mod damage;
mod faults;
mod identity;
mod killed;
mod ledger;
mod loading;
#[path = "../odd/mod.rs"]
mod odd;
mod patience;
mod real;
mod server;
mod sidecar;
mod sidecar_ends;
mod support;
