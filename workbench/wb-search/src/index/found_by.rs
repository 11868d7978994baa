//! Ways by which files of an index are found: by words and meaning, or by patterns alone.

use super::CodeIndex;

impl CodeIndex {
    /// Number of files that can be found: those with a text.
    pub fn n_readable(&self) -> usize {
        self.files().iter().filter(|file| !file.language.is_empty()).count()
    }

    /// Number of files that patterns alone look into, as no kind of them is known.
    pub fn n_of_no_kind(&self) -> usize {
        self.files().iter().filter(|file| file.language.is_empty() && file.hash != [0; 2]).count()
    }

    /// True for a file that words are looked for in, by its path.
    pub(crate) fn is_searched(&self, path: &str) -> bool {
        self.file_at(path).is_some_and(|at| !self.files()[at].language.is_empty())
    }
}
