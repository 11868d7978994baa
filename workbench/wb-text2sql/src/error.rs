//! What can go wrong around examples, prompts, index files and experiments.

use std::path::PathBuf;

/// An error of `wb-text2sql`. That no query can be predicted is none: it is a [`Reason`](crate::predict::Reason).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error that the ground crate words already: files, values, data that contradicts itself.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// A schema, a database, or a worker that runs queries.
    #[error(transparent)]
    Sql(#[from] wb_sql::Error),
    /// Rows of a file.
    #[error(transparent)]
    Rows(#[from] wb_data::Error),
    /// Scores of examples for questions.
    #[error(transparent)]
    Bench(#[from] wb_bench::Error),
    /// An index of vectors.
    #[error(transparent)]
    Faiss(#[from] wb_retrieval::faiss::Error),
    /// The language model, or that somebody stopped it.
    #[error("{0}")]
    Llm(#[from] wb_llm::Error),
    /// An encoder that failed.
    #[error("encoder {name} failed")]
    Encoder {
        /// Its name.
        name: String,
        /// Its answer.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An error with what was being done.
    #[error("{what}")]
    Within {
        /// What was being done.
        what: String,
        /// What went wrong in it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Something in a file is not as it should be.
    #[error("{}{}: {what}", path.display(), place.as_ref().map(|place| format!(":{place}")).unwrap_or_default())]
    Data {
        /// The file.
        path: PathBuf,
        /// Line, entry or byte.
        place: Option<String>,
        /// What was found and what was expected.
        what: String,
    },
    /// A template cannot be read or filled.
    #[error("prompt template: {what}; it may use {{{{ question }}}}, {{{{ context }}}} and {{{{ examples }}}}")]
    Prompt {
        /// What the template engine says.
        what: String,
    },
    /// A value that makes no sense.
    #[error("{key}: {what}")]
    Value {
        /// What it belongs to.
        key: String,
        /// What was found and what was expected.
        what: String,
    },
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::Sql(error) => error.hint(),
            Self::Rows(error) => error.hint(),
            Self::Bench(error) => error.hint(),
            _ => None,
        }
    }

    /// The same error, with what was being done before it.
    pub fn within(self, what: impl Into<String>) -> Self {
        Self::Within { what: what.into(), source: Box::new(self) }
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn data(path: impl Into<PathBuf>, place: Option<String>, what: impl Into<String>) -> Self {
        Self::Data { path: path.into(), place, what: what.into() }
    }
}

impl From<wb_sql::SchemaError> for Error {
    fn from(error: wb_sql::SchemaError) -> Self {
        Self::Sql(error.into())
    }
}

impl From<wb_sql::execute::Error> for Error {
    fn from(error: wb_sql::execute::Error) -> Self {
        Self::Sql(error.into())
    }
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
