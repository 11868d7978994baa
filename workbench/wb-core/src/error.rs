//! What can go wrong: one enum, and every variant names what, where, and what was expected.

use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of `wb-core`.
///
/// Messages are lower case and without a full stop; [`Error::hint`] is a sentence or a command to paste.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read, written, created or renamed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: `read`, `write`, `create`, `rename`, `lock`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: std::io::Error,
    },
    /// There is no space left for a file.
    #[error("cannot write {}: the disk is full, {bytes} bytes were needed", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The operating system's answer.
        #[source]
        source: std::io::Error,
    },
    /// A text that should be YAML or JSON of a known shape is not.
    #[error("{}:{line}:{column}: {at}{message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The key path with a colon and a space after it, or nothing.
        at: String,
        /// What is wrong and what was expected.
        message: String,
        /// A near name or another way out.
        hint: Option<String>,
    },
    /// A `key=value` override does not fit.
    #[error("override `{given}`: {message}")]
    Override {
        /// The override as typed.
        given: String,
        /// What is wrong and what was expected.
        message: String,
        /// A near name or another way out.
        hint: Option<String>,
    },
    /// A value has the right type and makes no sense.
    #[error("{key}: {message}")]
    Value {
        /// The key path.
        key: String,
        /// The value given and the values allowed.
        message: String,
        /// Another way out.
        hint: Option<String>,
    },
    /// Data that contradicts itself or its file.
    #[error("{place}: {message}")]
    Data {
        /// `file:line`, `file: tensor NAME`, or a file.
        place: String,
        /// What is wrong and what was expected.
        message: String,
        /// Another way out.
        hint: Option<String>,
    },
    /// Something that the user named does not exist.
    #[error("no {kind} `{name}`")]
    Unknown {
        /// What kind of thing: `run`, `benchmark`, `language`.
        kind: &'static str,
        /// The name typed.
        name: String,
        /// The near name or the full list.
        hint: Option<String>,
    },
    /// Another process holds a place that one at a time works in.
    #[error("{} is in use by {holder}", path.display())]
    Locked {
        /// The run's folder, or what else is held.
        path: PathBuf,
        /// `pid N on HOST since TIME (COMMAND)`.
        holder: String,
        /// Another way out than to wait.
        hint: Option<String>,
    },
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Parse { hint, .. }
            | Self::Override { hint, .. }
            | Self::Value { hint, .. }
            | Self::Data { hint, .. }
            | Self::Unknown { hint, .. } => hint.as_deref(),
            Self::Locked { hint, .. } => Some(hint.as_deref().unwrap_or("wait for it, or stop it")),
            Self::DiskFull { .. } => {
                Some("free some space and give the same command again: what was written before is whole")
            }
            Self::Io { .. } => None,
        }
    }

    /// An [`Error::Io`] maker for `map_err`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// An [`Error::Data`].
    pub fn data(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Data { place: place.into(), message: message.into(), hint: None }
    }

    /// An [`Error::Value`].
    pub fn value(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Value { key: key.into(), message: message.into(), hint: None }
    }

    /// The same error with a hint, where the variant can hold one.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Parse { hint, .. }
        | Self::Override { hint, .. }
        | Self::Value { hint, .. }
        | Self::Data { hint, .. }
        | Self::Unknown { hint, .. }
        | Self::Locked { hint, .. } = &mut self
        {
            *hint = Some(text.into());
        }
        self
    }
}
