//! The stages of an experiment. Each is named by the fingerprint of what goes in, and is not done twice.

pub mod ab;
pub mod bench;
mod code_labels;
pub mod cost;
pub mod data;
pub mod device;
pub mod documents;
pub mod encoder;
pub mod environment;
mod inputs;
pub mod journals;
pub mod judge;
pub mod manifest;
pub mod mine;
pub mod model_card;
pub mod model_file;
pub mod needs;
pub mod preflight;
pub mod resume;
pub mod stages;
pub mod steps;
pub mod synth;
pub mod train;
pub mod verdict;
