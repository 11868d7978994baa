//! What an arm answers.

/// A query for a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnsweredQuery {
    /// On one line; empty where there is none.
    pub sql: String,
    /// Why there is none.
    pub message: Option<String>,
}

impl AnsweredQuery {
    /// No query, and why.
    pub fn none(message: impl Into<String>) -> Self {
        Self { sql: String::new(), message: Some(message.into()) }
    }
}
