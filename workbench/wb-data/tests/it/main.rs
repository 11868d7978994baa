//! Pairs from files to prepared sets, on made and on real data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "helpers of tests are tests too")]

mod dedupe;
mod leak;
mod parts;
mod prepare;
mod real;
mod sources;
mod split;
mod store;
mod streaming;
mod support;
mod unlabeled;
