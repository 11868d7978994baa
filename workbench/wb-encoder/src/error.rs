//! Errors of encoders.

use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of `wb-encoder`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the ground crate: files, configs, values.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// A weights file that is not what it should be.
    #[error("{}: tensor `{tensor}`: {message}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor's name in the file.
        tensor: String,
        /// Both sides: what was found and what was expected.
        message: String,
        /// Another way out.
        hint: Option<String>,
    },
    /// A model folder, tokenizer or weights file that cannot be used.
    #[error("{}: {message}", path.display())]
    Model {
        /// The file or folder.
        path: PathBuf,
        /// The value found and the one expected.
        message: String,
        /// Another way out.
        hint: Option<String>,
    },
    /// A device that this build or machine lacks, or that computes wrongly.
    #[error("cannot use device `{device}`: {message}")]
    Device {
        /// The device as named by the user.
        device: String,
        /// The reason.
        message: String,
        /// Advice on what to do.
        hint: Option<String>,
    },
    /// The tokenizer refused.
    #[error("tokenizer: {message}")]
    Tokenizer {
        /// The work that failed.
        message: String,
        /// The library's own error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Work that was broken off from outside ([`crate::stop::Stop`]); nothing of it is kept.
    #[error("stopped from outside")]
    Stopped,
    /// Training stopped: a loss or gradient that is not a number, for example.
    #[error("training stopped at step {step}: {message}")]
    Training {
        /// The step, from 1.
        step: u64,
        /// The reason, with the ids of the batch.
        message: String,
        /// Advice on what to try.
        hint: Option<String>,
    },
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Core(error) => error.hint(),
            Self::Tensor { hint, .. }
            | Self::Model { hint, .. }
            | Self::Device { hint, .. }
            | Self::Training { hint, .. } => hint.as_deref(),
            Self::Tokenizer { .. } | Self::Stopped => None,
        }
    }
}
