//! Exact match held against the published evaluator, cases by hand, and texts of all kinds.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod golden;
mod properties;
mod published;
mod strict;
mod support;
