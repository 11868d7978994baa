//! Faults of a text by their place in it, before it is known which file it is of.

use std::path::Path;

use wb_core::Error;

/// A fault at a byte of a text.
#[derive(Debug)]
pub struct TextFault {
    at: usize,
    message: String,
    hint: String,
}

impl TextFault {
    /// A fault, with a sentence that helps.
    pub fn new(at: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: hint.into() }
    }

    /// The error of a file that has this text.
    pub fn of_file(self, path: &Path, text: &str) -> Error {
        let before = text.get(..self.at.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Error::Parse {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().filter(|&c| c != '\u{feff}').count() + 1,
            at: String::new(),
            message: self.message,
            hint: Some(self.hint),
        }
    }
}
