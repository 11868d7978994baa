//! Exact match held against the published evaluator, cases by hand, and texts of all kinds.

mod golden;
mod properties;
mod published;
mod strict;
mod support;
