//! Errors of reading sources.

use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of `wb-code`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value or a name of the config makes no sense.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// The source tree is not there, or is no folder.
    #[error("{} is not a folder, expected a tree of source files", path.display())]
    NotAFolder {
        /// The path as given or as found out.
        path: PathBuf,
    },
    /// Neither `CARGO_HOME` nor `HOME` says where Cargo keeps its sources.
    #[error("cannot find Cargo's registry sources: neither CARGO_HOME nor HOME is set")]
    NoCargoHome,
    /// The tree has no file in the languages asked for.
    #[error("{} has no source file in {languages}", path.display())]
    NoSources {
        /// The tree.
        path: PathBuf,
        /// The languages, joined with commas.
        languages: String,
    },
    /// A folder of the tree cannot be listed.
    #[error("cannot list {}", path.display())]
    Walk {
        /// The tree.
        path: PathBuf,
        /// The walker's answer, with the folder in question.
        #[source]
        source: ignore::Error,
    },
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::NotAFolder { .. } | Self::NoCargoHome => {
                Some("give `path:` a folder of sources, or run `cargo fetch` in a Rust project first".to_owned())
            }
            Self::NoSources { .. } => Some("set `languages:` to those of the tree".to_owned()),
            Self::Walk { .. } => None,
        }
    }
}
