//! Text-to-SQL with retrieved examples: what retrieval is worth, by rules or by a language model.
//!
//! A training split becomes [`examples::ExampleDocument`]s (database context and SQL); a retriever ranks them for each question,
//! [`examples::guard`] takes out those of the question's own database, and then either a model is prompted with them
//! ([`Prompt`], [`sql_of_answer`]), or the [`predict::Predictor`] re-targets them by rules. [`experiment`] does so for
//! every arm, and puts the arms beside each other.
//! No encoder is opened here and nothing is printed: encoders, a language model and workers come in.

mod answer;
pub mod config;
pub mod examples;
pub mod experiment;
pub mod link;
mod measures;
mod paired;
pub mod predict;
mod prompt;
pub mod schema;
mod vote;
mod words;

pub use answer::sql_of_answer;
pub use config::RagConfig;
pub use measures::{Recall, SkeletonMatch, schema_recall, skeleton_match};
pub use prompt::{DEFAULT_PROMPT, Prompt};
pub use vote::{Vote, vote};
pub use wb_core::{Error, Result};
