//! Encoders against reference implementations, through burn's CPU backend and through the CPU's own.

mod common;
mod encoder;
mod gradients;
mod minilm;
mod probe;
mod speed;
mod tiny;
