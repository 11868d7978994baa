//! What can go wrong between a name and a file: one sentence, and a hint that helps.

use std::error::Error as StdError;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of failure, for callers that tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The environment forbids to ask, and the file is not on this disk.
    Offline,
    /// This build cannot ask.
    NotBuilt,
    /// No repository of that name is public or open to the token.
    NoRepository,
    /// The repository has no such revision.
    NoRevision,
    /// The revision has no such file.
    NoFile,
    /// The owner lets in only who accepted the terms.
    Gated,
    /// The token is not accepted.
    Token,
    /// Nobody answered, or not to the end, after all attempts.
    Unreachable,
    /// The server has asked to wait longer than anybody wants to.
    Busy,
    /// The server refused for another reason.
    Refused,
    /// Other bytes came than those that were listed.
    WrongBytes,
    /// The answer makes no sense.
    Nonsense,
    /// The disk has no room.
    DiskFull,
    /// `--locked`, and the lock file does not know the name.
    NotLocked,
    /// A person or an option said no to a large download.
    NotAllowed,
}

/// An error of `wb-hub`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the ground crate: files, values.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// A file of a repository or an address that cannot be had.
    #[error("{what}: {message}")]
    Hub {
        /// The kind of failure.
        why: Why,
        /// `owner/name@revision`, `owner/name@revision: file`, or an address.
        what: String,
        /// One sentence.
        message: String,
        /// A sentence or a command that helps.
        hint: Option<String>,
        /// The cause below, if there is one.
        #[source]
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
}

impl Error {
    /// An [`Error::Hub`] without hint and cause.
    pub(crate) fn new(why: Why, what: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Hub { why, what: what.into(), message: message.into(), hint: None, source: None }
    }

    /// This error with a hint.
    #[must_use]
    pub(crate) fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Hub { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// This error with a cause.
    #[must_use]
    #[cfg(feature = "network")]
    pub(crate) fn with_cause(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        if let Self::Hub { source, .. } = &mut self {
            *source = Some(Box::new(cause));
        }
        self
    }

    /// The kind of failure; none for errors of the ground crate.
    pub fn why(&self) -> Option<Why> {
        match self {
            Self::Hub { why, .. } => Some(*why),
            Self::Core(_) => None,
        }
    }

    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::Hub { hint, .. } => hint.clone(),
        }
    }
}
