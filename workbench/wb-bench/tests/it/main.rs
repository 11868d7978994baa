//! The benchmarks against reference implementations, on made-up vectors and on real data.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod contestants;
mod layouts;
mod made_up;
mod real_data;
mod search;
mod support;
