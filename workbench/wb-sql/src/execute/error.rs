//! Errors that keep statements from being judged at all; what a statement does wrong is an outcome, not an error.

use std::path::PathBuf;

/// An error around the execution of statements.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A worker could not be started, or did not say that it is ready.
    #[error("cannot start a worker with `{command}`: {what}")]
    Start {
        /// The command.
        command: String,
        /// Description of the event.
        what: String,
    },
    /// Bytes between parent and worker that are none of the protocol's.
    #[error("broken message: {0}")]
    Protocol(String),
    /// A file or folder.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Answer of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// A pipe.
    #[error("pipe: {0}")]
    Pipe(#[from] std::io::Error),
    /// A folder that has no database.
    #[error("{0}: no file whose name contains `.sqlite`")]
    NoDatabase(PathBuf),
    /// A database that was not closed: its latest changes stand beside it, where judging does not read them.
    #[error("{database}: its latest changes are not in it but in {log}")]
    Unmerged {
        /// The database.
        database: PathBuf,
        /// Its log.
        log: PathBuf,
    },
    /// A path that is no UTF-8, which SQLite cannot open by its address.
    #[error("{0}: the path of a database must be UTF-8")]
    Path(PathBuf),
}

impl From<Error> for wb_core::Error {
    fn from(error: Error) -> Self {
        let told = Self::failed(error.to_string());
        match error {
            Error::Io { source, .. } | Error::Pipe(source) => told.with_cause(source),
            // Or opened once with what wrote it.
            Error::Unmerged { database, .. } => {
                let path = database.display().to_string().replace('\'', "'\\''");
                told.with_hint(format!("sqlite3 '{path}' 'PRAGMA wal_checkpoint(TRUNCATE)'"))
            }
            _ => told,
        }
    }
}

/// The result of this module.
pub type Result<T, E = Error> = std::result::Result<T, E>;
