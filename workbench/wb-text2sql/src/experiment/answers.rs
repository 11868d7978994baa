//! Queries of an arm.

/// A query for a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnsweredQuery {
    /// The query on one line; empty where there is none.
    pub sql: String,
    /// Reason why there is none.
    pub message: Option<String>,
}

impl AnsweredQuery {
    /// Absence of a query, and the reason.
    pub fn none(message: impl Into<String>) -> Self {
        Self { sql: String::new(), message: Some(message.into()) }
    }
}
