//! The pipeline of one YAML: its sections, typed, and the stages of an experiment. Each stage is named by the
//! fingerprint of what goes in, and is not done twice.
//!
//! Begin with [`config::Experiment::load`] and [`experiment::Job`]; [`data::data`], [`train::encoder`] and
//! [`bench::bench`] are the stages. Nothing is printed: progress goes through a closure of the caller's, and lines for
//! people go to the [`output::Listener`] of the process.

pub mod ab;
pub mod agents;
pub mod allocator;
pub mod bench;
pub mod browser;
pub mod check;
mod code_labels;
pub mod compare;
pub mod config;
pub mod contestants;
pub mod cost;
pub mod data;
pub mod data_sets;
pub mod device;
pub mod distributed;
pub mod documents;
pub mod encode;
pub mod encoder;
pub mod encoder_size;
pub mod environment;
pub mod experiment;
pub mod export;
pub mod external;
pub mod init;
mod inputs;
pub mod interrupt;
pub mod journals;
pub mod judge;
pub mod lints;
pub mod listings;
pub mod manifest;
pub mod mine;
pub mod mined_for;
pub mod model_card;
pub mod model_file;
pub mod needs;
pub mod outline;
pub mod output;
pub mod pages;
pub mod preflight;
pub mod progress;
pub mod recipes;
pub mod requirements;
pub mod resume;
pub mod search;
pub mod session;
pub mod shards;
pub mod stages;
pub mod steps;
pub mod structure;
pub mod sweep;
pub mod synth;
pub mod test_pairs;
pub mod text2sql;
pub mod train;
pub mod typed;
pub mod verdict;
