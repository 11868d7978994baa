//! Errors of making pairs: every variant says what, where, and what was expected.

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of `wb-synth`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the ground crate: files, config values.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// The language model, or the ledger of its answers.
    #[error(transparent)]
    Llm(#[from] wb_llm::Error),
    /// A prompt that cannot be filled.
    #[error("{task}, step {step}: {message}")]
    Prompt {
        /// The task's full name.
        task: String,
        /// Number of the step in the task, from 1.
        step: usize,
        /// The words of the template engine.
        message: String,
    },
    /// Something is left with nothing to work on.
    #[error("{what}")]
    Empty {
        /// The thing that is empty, and what emptied it.
        what: String,
        /// The option to change.
        hint: Option<String>,
    },
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::Empty { hint, .. } => hint.clone(),
            Self::Prompt { .. } => Some(format!("variables of a prompt: {}", crate::tasks::VARIABLES.join(", "))),
            Self::Llm(_) => None,
        }
    }
}
