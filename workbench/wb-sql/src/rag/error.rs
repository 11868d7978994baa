//! What can go wrong around examples, prompts and index files.

use std::path::PathBuf;

use crate::SchemaError;

/// An error of this module. That no query can be predicted is none: it is a [`Reason`](super::Reason).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A schema cannot be read or is not there.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] wb_core::Error),
    /// A file cannot be read.
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
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn data(path: impl Into<PathBuf>, place: Option<String>, what: impl Into<String>) -> Self {
        Self::Data { path: path.into(), place, what: what.into() }
    }
}

/// The result of this module.
pub type Result<T, E = Error> = std::result::Result<T, E>;
