//! Jupyter notebooks: their cells, and a notebook as a source whose lines are those of its file.

mod magics;
mod parse;
mod readable;

pub use magics::without_magics;
pub use parse::{Cell, CellKind, Notebook, NotebookFault};
pub use readable::{CELL, code_of, comment_of, is_notebook, language_of, readable};

/// Markdown without the bytes of pictures that stand in it.
pub fn without_data(markdown: &str) -> String {
    let mut kept = String::with_capacity(markdown.len().min(1 << 16));
    let mut rest = markdown;
    while let Some((before, data)) = rest.split_once("data:") {
        kept.push_str(before);
        kept.push_str("data:");
        let end = data.find(|c: char| c.is_whitespace() || matches!(c, ')' | '"' | '\'' | '>')).unwrap_or(data.len());
        if end <= 64 {
            kept.push_str(&data[..end]);
        }
        rest = &data[end..];
    }
    kept.push_str(rest);
    kept
}
