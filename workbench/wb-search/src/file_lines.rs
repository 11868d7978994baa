//! Lines of an index's files, read when they are first asked for.

use std::sync::OnceLock;

use wb_core::untrusted::clean;

use crate::{CodeIndex, FoundUnit};

/// Lines of files as they were indexed, without control characters.
pub(crate) struct FileLines<'a> {
    index: &'a CodeIndex,
    files: Vec<OnceLock<Option<Vec<String>>>>,
}

impl<'a> FileLines<'a> {
    /// Lines of an index's files; no file is read yet.
    pub fn new(index: &'a CodeIndex) -> Self {
        Self { index, files: index.files().iter().map(|_| OnceLock::new()).collect() }
    }

    /// The index.
    pub fn index(&self) -> &'a CodeIndex {
        self.index
    }

    /// Lines of a file, by its position; none where it is not what it was.
    pub fn of(&self, file: usize) -> Option<&[String]> {
        let read = || Some(self.index.current_text(file)?.lines().map(clean).collect());
        self.files.get(file)?.get_or_init(read).as_deref()
    }
}

impl CodeIndex {
    /// All lines of a unit, without control characters; none where its file is not what it was.
    pub fn text_of(&self, found: &FoundUnit) -> Option<String> {
        let text = self.current_text(self.units().get(found.unit)?.file as usize)?;
        let [from, to] = found.lines.map(|line| line as usize);
        Some(text.lines().take(to).skip(from - 1).map(clean).collect::<Vec<_>>().join("\n"))
    }
}

/// Lines from one to another, counted from 1, as far as there are some.
pub(crate) fn run(lines: &[String], [from, to]: [u32; 2]) -> &[String] {
    let last = lines.len().min(to as usize);
    lines.get(from.max(1) as usize - 1..last).unwrap_or_default()
}
