//! Training pairs from a local language model, from rules, and from what lies around.
//!
//! [`run`] is the way in for the model: snippets in, questions asked stage after stage through [`wb_llm::Ask`], pairs out.
//! [`annotate`] and [`rules`] make pairs too; [`dataset::gather`] puts all of them together, with where each came from, a
//! data card, a token account and a page for a person's review.
//! Everything is a pure function of configuration, snippets and replies: the same bytes whatever order replies come in.

pub mod account;
pub mod annotate;
pub mod calibration;
pub mod card;
pub mod chain;
pub mod config;
pub mod dataset;
pub mod dry_run;
pub mod languages;
pub mod prompts;
pub mod provenance;
pub mod review;
pub mod rules;
pub mod snippet;
pub mod snippets;
pub mod tasks;

pub use account::SynthesisAccount;
pub use chain::{AskedModel, Synthesis, run};
pub use config::SynthConfig;
pub use dataset::Dataset;
pub use dry_run::{Estimate, Spent, SynthesisPlan, dry_run, plan};
pub use snippet::Snippet;
pub use wb_core::{Error, Result};
