//! What can go wrong between vectors and metrics.

use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of `wb-retrieval`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error that the ground crate words already: files, values, data that contradicts itself.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// A line of a file that is not what it should be.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong and what was expected.
        message: String,
        /// The parser's answer, where there is one.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// A vector that no score can be computed with.
    #[error("{side} vector {row} has {what}, expected finite numbers and a length under {limit:e}")]
    Vector {
        /// `query` or `document`.
        side: &'static str,
        /// Its position.
        row: usize,
        /// `a value that is not a number`, ...
        what: &'static str,
        /// The greatest length allowed.
        limit: f32,
    },
    /// Two things that must be equally long are not.
    #[error("{what}: {given} and {expected} given, expected the same")]
    Lengths {
        /// Which two.
        what: &'static str,
        /// One.
        given: usize,
        /// The other.
        expected: usize,
    },
    /// A ranking that belongs to other queries or to another corpus.
    #[error("a ranking names position {position} of {n} {of}")]
    Position {
        /// `queries` or `documents`.
        of: &'static str,
        /// The position named.
        position: usize,
        /// How many there are.
        n: usize,
    },
    /// More documents than positions can count.
    #[error("{given} documents, at most {limit} fit into one index")]
    TooMany {
        /// How many there are.
        given: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Broken off from outside.
    #[error("stopped from outside")]
    Stopped,
    /// The lexical index failed.
    #[error("cannot {action} the lexical index")]
    Lexical {
        /// `build` or `read`.
        action: &'static str,
        /// Its answer.
        #[source]
        source: Box<tantivy::TantivyError>,
    },
    /// The encoder failed.
    #[error("cannot encode {what} with {encoder}")]
    Encoder {
        /// `queries`, `documents`, or `queries with documents`.
        what: &'static str,
        /// The encoder's name.
        encoder: String,
        /// Its answer.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::Vector { side, .. } => Some(format!(
                "look at the {side} text at this position, and whether training ended in numbers that are not finite"
            )),
            Self::TooMany { .. } => Some("split the corpus and search each part".to_owned()),
            _ => None,
        }
    }

    /// A [`Error::Lexical`] maker for `map_err`.
    pub(crate) fn lexical<E: Into<tantivy::TantivyError>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Lexical { action, source: Box::new(source.into()) }
    }

    /// A [`Error::Line`] without a source.
    pub(crate) fn line(path: &std::path::Path, line: usize, message: impl Into<String>) -> Self {
        Self::Line { path: path.to_path_buf(), line, message: message.into(), source: None }
    }
}
