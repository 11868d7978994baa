//! What can go wrong between a question and an answer.

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

/// What ends a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value of the configuration.
    #[error("{key}: {what}")]
    Config {
        /// Where it stands.
        key: String,
        /// What is wrong and what was expected.
        what: String,
    },
    /// The engine cannot be used.
    #[error("{0}")]
    Engine(String),
    /// A file.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The ledger holds something that it cannot hold, or lacks what a replay needs.
    #[error("{0}")]
    Ledger(String),
    /// Somebody asked to stop.
    #[error("stopped; the same command goes on from here")]
    Interrupted,
}

/// The result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
