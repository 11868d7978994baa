//! Engines, ledger and client together: against a server that fails on purpose, and against a real one.

mod client;
mod faults;
mod killed;
mod ledger;
mod real;
mod server;
mod sidecar;
mod support;
