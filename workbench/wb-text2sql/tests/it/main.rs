//! Examples for text-to-SQL: from files to predicted queries, on made-up and on real databases.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod documents;
mod predictor;
mod real;
mod support;
