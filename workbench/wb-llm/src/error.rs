//! Failures of a single attempt to get an answer.

use std::time::Duration;

/// A failure of a single attempt, by what is to be done about it.
#[derive(Debug, Clone, thiserror::Error, PartialEq)]
pub enum Failure {
    /// A failure that may not come again: a reset connection, a time-out, a status of 429, 500, 502 or 503.
    #[error("{what}")]
    Retry {
        /// Description of the event.
        what: String,
        /// Wait that the server asked for.
        after: Option<Duration>,
    },
    /// A question that can never be answered: its prompt is longer than the model's context.
    #[error("{0}")]
    Reject(String),
    /// The engine is well, and what the model said cannot be handed on: another draw may say something else.
    #[error("{0}")]
    Unusable(String),
    /// Nothing can be answered: a wrong key, a wrong address, a request that the server does not take.
    #[error("{0}")]
    Stop(String),
}
