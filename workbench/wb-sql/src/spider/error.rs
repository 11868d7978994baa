//! Why a text is not a query of Spider's grammar.

/// Why a text could not be read. Places are counted in tokens, from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// An opening quote has no closing one.
    #[error("a quote is not closed: {count} quotes were found, expected an even number")]
    Quote {
        /// How many there are.
        count: usize,
    },
    /// Something else stands where the grammar wants one of a few words.
    #[error("token {place}: found `{found}`, expected {expected}")]
    Unexpected {
        /// Where.
        place: usize,
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// The text ends too early.
    #[error("the text ends at token {place}, expected {expected}")]
    End {
        /// Where.
        place: usize,
        /// What is missing.
        expected: &'static str,
    },
    /// No table of FROM has such a column, or no alias or table has such a name.
    #[error("token {place}: `{name}` is no {kind} in reach")]
    Unknown {
        /// Where.
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
