//! What a single attempt to get an answer ends with.

use std::time::Duration;

/// What a single attempt ended with, by what is to be done about it.
#[derive(Debug, Clone, thiserror::Error, PartialEq)]
pub enum Failure {
    /// It may work the next time: a reset connection, a time-out, a status of 429, 500, 502 or 503.
    #[error("{what}")]
    Retry {
        /// What happened.
        what: String,
        /// How long the server asked to wait.
        after: Option<Duration>,
    },
    /// This question can never be answered: its prompt is longer than the model's context.
    #[error("{0}")]
    Reject(String),
    /// The engine is well, and what the model said cannot be handed on: another draw may say something else.
    #[error("{0}")]
    Unusable(String),
    /// Nothing can be answered: a wrong key, a wrong address, a request that the server does not take.
    #[error("{0}")]
    Stop(String),
}
