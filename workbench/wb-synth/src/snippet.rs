//! The material of everything here: one piece of code or text, and where it came from.

use serde::Serialize;
use wb_core::pair::Origin;

/// A piece of source code or of text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// Unique in its run, made from where it came from: the same in every run over the same source. On the way from its
    /// source, the end of it: path and lines, table and row.
    pub id: String,
    /// The programming language in lower case; empty for text.
    pub language: String,
    /// The text itself, as it stands.
    pub text: String,
    /// Words before it that speak of it (a notebook's Markdown, a doc comment, a heading); empty for none.
    pub context: String,
    /// Its group, file, lines and license, and as its data set the name of its source.
    pub origin: Origin,
}
