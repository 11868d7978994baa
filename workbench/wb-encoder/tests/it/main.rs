//! Encoders against reference implementations, through burn's CPU backend and through the CPU's own.

// The lints take functions that tests share for code of their own.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests are tests too")]

mod architectures;
mod common;
mod cross_encoder;
mod dense;
mod encoder;
mod export;
mod gradients;
mod late_interaction;
mod long_texts;
mod minilm;
mod peft;
mod speed;
mod static_from_teacher;
mod t5;
mod teacher;
mod tiny;
mod tokens;
mod weight_types;
