//! Benchmarks of code search under exact protocols, and comparisons of what they measured.
//!
//! A [`benchmarks::Benchmark`] reads data into a [`benchmarks::BenchmarkPlan`]: every text once, and the
//! [`protocols`] that the data allows. A [`contestant::BenchContestant`] embeds the texts once and becomes a
//! [`contestant::Scorer`]; [`runner::run`] measures it under every protocol; [`compare::compare`] sets two such
//! outcomes against each other. Nothing here knows a model or a terminal.

pub mod ab;
pub mod audit;
pub mod benchmarks;
pub mod compare;
pub mod compressed;
pub mod contestant;
pub mod cosines;
pub mod document_texts;
pub mod examples;
pub mod layouts;
pub mod numpy_random;
pub mod protocols;
pub mod reranking;
pub mod runner;
pub mod texts;

pub use ab::{AbArm, AbExperiment, AbQuery, ArmTexts};
pub use audit::{TrainingTexts, audits};
pub use benchmarks::{Benchmark, BenchmarkConfig, BenchmarkData, BenchmarkPlan, Card};
pub use compare::{OutcomeComparison, compare};
pub use compressed::{Compressed, check_compressible, compressed};
pub use contestant::{BenchContestant, Scorer};
pub use cosines::{Cosines, cosines};
pub use document_texts::DocumentTexts;
pub use reranking::Reranking;
pub use runner::{Options, run, write_trec};
pub use wb_core::{Error, Result};
