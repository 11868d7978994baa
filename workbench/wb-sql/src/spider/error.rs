//! Reasons why a text is not a query of Spider's grammar.

/// Reason why a text could not be read. Places are counted in tokens, from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// An opening quote has no closing one.
    #[error("a quote is not closed: {count} quotes were found, expected an even number")]
    Quote {
        /// Number of quotes.
        count: usize,
    },
    /// Something else stands where the grammar wants one of a few words.
    #[error("token {place}: found `{found}`, expected {expected}")]
    Unexpected {
        /// Place of the token.
        place: usize,
        /// Token that stands there.
        found: String,
        /// Expected token.
        expected: &'static str,
    },
    /// The text ends too early.
    #[error("the text ends at token {place}, expected {expected}")]
    End {
        /// Place in the tokens.
        place: usize,
        /// Missing part.
        expected: &'static str,
    },
    /// Name that no table of FROM has as a column, or no alias or table has such a name.
    #[error("token {place}: `{name}` is no {kind} in reach")]
    Unknown {
        /// Place of the name.
        place: usize,
        /// The name as written.
        name: String,
        /// `column` or `table`.
        kind: &'static str,
    },
    /// An alias is named as a table of the database.
    #[error("the alias `{alias}` is the name of a table")]
    Alias {
        /// The alias.
        alias: String,
    },
    /// Queries are nested too deep.
    #[error("more than {limit} queries are nested in one another")]
    Depth {
        /// The most that are read.
        limit: usize,
    },
}
