//! The words that every crate of the workbench speaks: pairs, corpora, embeddings, rankings, scores, runs.
//!
//! Nothing here knows a model, a file format of others, or a terminal.

pub mod atomic;
pub mod config;
pub mod corpus;
pub mod distinct;
pub mod download;
pub mod embeddings;
pub mod encoder;
pub mod encoder_ref;
pub mod error;
pub mod faults;
pub mod fingerprint;
pub mod group_maxima;
pub mod json_lines;
pub mod key;
pub mod lock;
pub mod manifest;
pub mod painted;
pub mod pair;
pub mod paths;
pub mod pickle;
pub mod progress;
pub mod publish;
pub mod quantities;
pub mod range_reader;
pub mod ranking;
pub mod records;
pub mod remote;
pub mod reranker;
pub mod retry_after;
pub mod run_dir;
pub mod scores;
pub mod seed;
pub mod simd;
pub mod statistics;
pub mod suggest;
pub mod untrusted;

pub use corpus::{Corpus, Document, Qrels, Query};
pub use distinct::distinct;
pub use embeddings::Embeddings;
pub use encoder::{Encoder, Interaction, Side};
pub use encoder_ref::{EncoderPlace, EncoderRef, Ranker};
pub use error::{Error, Result};
pub use group_maxima::GroupMaxima;
pub use pair::{Origin, Pair, PairSet, Task};
pub use progress::Progress;
pub use range_reader::RangeReader;
pub use ranking::{Hit, Ranking};
pub use reranker::Reranker;
pub use run_dir::RunDir;
pub use scores::Scores;
pub use seed::Seed;
