//! What can go wrong while a report is made.

use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of `wb-report`.
///
/// A part of a run that is missing or cannot be read is no error: the page says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error(transparent)]
    Core(#[from] wb_core::Error),
    /// The folder is not there, or holds nothing that a run writes.
    #[error("{} is not a run folder: {reason}", path.display())]
    NotARun {
        /// The folder as given.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A table in memory could not be made; a defect.
    #[error("cannot make the table `{table}`")]
    Frame {
        /// Which table.
        table: &'static str,
        /// Its answer.
        #[source]
        source: polars::error::PolarsError,
    },
    /// A chart could not be drawn; a defect.
    #[error("cannot draw the chart `{chart}`: {message}")]
    Chart {
        /// Which chart.
        chart: String,
        /// What the drawing library said.
        message: String,
    },
    /// The page's template does not fit its content; a defect.
    #[error("cannot fill the template `{template}`")]
    Template {
        /// Which template.
        template: &'static str,
        /// Its answer.
        #[source]
        source: minijinja::Error,
    },
}

impl Error {
    /// A sentence or command that helps, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => error.hint().map(str::to_owned),
            Self::NotARun { .. } => Some("`wb ls` lists the runs that there are".to_owned()),
            Self::Frame { .. } | Self::Chart { .. } | Self::Template { .. } => None,
        }
    }

    /// An [`Error::Frame`] maker for `map_err`.
    pub(crate) fn frame(table: &'static str) -> impl Fn(polars::error::PolarsError) -> Self {
        move |source| Self::Frame { table, source }
    }
}
