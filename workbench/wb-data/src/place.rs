//! Places of records in files.

use std::{fmt, path::Path, sync::Arc};

/// The place of a record in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordPlace {
    /// The file.
    pub path: Arc<Path>,
    /// Line (or row, in a table) from 1.
    pub line: usize,
    /// Column in bytes from 1; 0 for rows of a table.
    pub column: usize,
}

impl RecordPlace {
    /// A line of a text file, at its first column.
    pub fn line(path: &Arc<Path>, line: usize) -> Self {
        Self { path: Arc::clone(path), line, column: 1 }
    }

    /// A row of a table.
    pub fn row(path: &Arc<Path>, row: usize) -> Self {
        Self { path: Arc::clone(path), line: row, column: 0 }
    }

    /// Moves to another column of the line; rows of a table stay rows.
    #[must_use]
    pub fn at(mut self, column: usize) -> Self {
        if self.column > 0 {
            self.column = column.max(1);
        }
        self
    }
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "{}: row {}", self.path.display(), self.line),
            column => write!(f, "{}:{}:{column}", self.path.display(), self.line),
        }
    }
}
