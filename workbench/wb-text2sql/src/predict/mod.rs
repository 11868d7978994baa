//! Queries by rules: the query of a retrieved example, re-targeted to the database of the question.

mod assign;
mod build;
mod conditions;
mod form;
mod from_clause;
mod joins;
mod predictor;
mod render;

pub use predictor::{PredictConfig, Prediction, Predictor, QueryCandidate, Ran, Reason};

pub(crate) use predictor::names;
