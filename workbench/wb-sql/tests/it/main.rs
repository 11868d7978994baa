//! The judge of text-to-SQL on made-up and on real databases.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should say where, and figures are shown"
)]

mod agreement;
mod bird;
mod hostile;
mod speed;
mod support;
mod workers;
