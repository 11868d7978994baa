//! How libraries tell how far they are; only the command draws it.

/// One report of a stage's progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What is being done, in the user's words: `reading sources`, `encoding documents`.
    pub stage: &'static str,
    /// Units done.
    pub done: u64,
    /// Units in all, 0 while it is not known.
    pub total: u64,
    /// A short remark: the current loss, the current file; empty for none.
    pub note: String,
}

impl Progress {
    /// Progress without a remark.
    pub fn new(stage: &'static str, done: usize, total: usize) -> Self {
        Self { stage, done: done as u64, total: total as u64, note: String::new() }
    }

    /// The same with a remark.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// For callers that do not want to know.
pub fn silent(_: Progress) {}
