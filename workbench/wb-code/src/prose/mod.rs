//! Doc comment to anchor: the description alone, as plain prose on one line.
//!
//! Gone are code blocks, tables, link targets, markup, sections after the description (`# Examples`, `Args:`,
//! `@param`), HTML tags and bare addresses.

mod blocks;
mod docstring;
mod fences;
mod haddock;
mod html;
mod inline;
mod scaladoc;
mod split_docstring;
mod swift;
mod tags;
mod xml;

use crate::languages::Language;
pub use fences::{FencePlace, FenceReader};
pub use split_docstring::split_docstring;

/// Number of characters of a description that an anchor keeps unless told otherwise.
pub const MAX_ANCHOR_CHARS: usize = 600;

/// More of a doc comment than this is not looked at: no description is as long, and hostile texts stay cheap.
const MAX_DOC_BYTES: usize = 32 << 10;

/// The conventions of a doc comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup {
    /// Rust, Elixir, Zig: Markdown.
    Markdown,
    /// Go: paragraphs, indented code, `# Heading`, `[Link]`.
    GoDoc,
    /// Javadoc, JSDoc, PHPDoc, KDoc, LDoc: a description, then `@tags`; HTML or Markdown inside.
    Tags,
    /// Doxygen: `\commands` and `@commands` anywhere.
    Doxygen,
    /// Ruby: RDoc with YARD's tags or TomDoc's sections.
    Rdoc,
    /// Python: reStructuredText, Google's and NumPy's sections, doctests.
    Docstring,
    /// C#: elements of XML, the description in `<summary>`.
    Xml,
    /// Scala: a wiki's marks, then `@tags`.
    Scaladoc,
    /// Swift: Markdown with callouts, `- Parameter x: …`.
    Swift,
    /// Shell: text with `@tags` or with sections.
    Shell,
    /// Haskell: marks of its own, `'name'`, `@code@`.
    Haddock,
}

/// The description in a doc comment (without comment markers) as one line of prose of at most `max_chars` characters,
/// cut at the end of a sentence if one ends in the second half, else of a word; empty where nothing is left.
pub fn anchor_prose(doc: &str, language: Language, max_chars: usize) -> String {
    let markup = language.rules().markup();
    let doc = &doc[..doc.floor_char_boundary(MAX_DOC_BYTES)];
    let description = match markup {
        Markup::Markdown | Markup::GoDoc => blocks::description(doc, markup),
        Markup::Tags | Markup::Doxygen | Markup::Rdoc => blocks::description(&tags::description(doc, markup), markup),
        Markup::Docstring => blocks::description(&docstring::description(doc), markup),
        Markup::Xml => blocks::description(&xml::description(doc), markup),
        Markup::Shell => blocks::description(&tags::description(doc, markup), markup),
        Markup::Scaladoc => blocks::description(&tags::description(&scaladoc::plain(doc), markup), markup),
        Markup::Swift => blocks::description(&swift::description(doc), markup),
        Markup::Haddock => blocks::description(&haddock::plain(doc), markup),
    };
    let plain = inline::plain(&description, markup, &blocks::defined_links(doc));
    cut(&fold(&plain), max_chars)
}

/// White space to single spaces, and the gaps that removed links left behind closed; empty without a letter or digit.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let mut word = word;
        if let Some(rest) = word.strip_prefix(')').or_else(|| word.strip_prefix("()"))
            && (word.starts_with('(') || folded == "(" || folded.ends_with(" ("))
        {
            folded.truncate(folded.trim_end_matches('(').trim_end().len());
            word = rest;
        }
        if matches!(word, "." | "," | ":" | ";") {
            if folded.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '"' | '\'')) {
                folded.push_str(word);
            }
        } else if !matches!(word, "" | "[]") {
            if !folded.is_empty() {
                folded.push(' ');
            }
            folded.push_str(word);
        }
    }
    if folded.chars().any(char::is_alphanumeric) { folded } else { String::new() }
}

fn cut(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.to_owned() };
    let kept = &text[..end];
    // The character after the limit may be the space that ends a sentence or a word.
    let with_next = &text[..end + text[end..].chars().next().map_or(0, char::len_utf8)];
    let ends = [". ", "! ", "? ", "。"]
        .into_iter()
        .flat_map(|mark| with_next.match_indices(mark).map(move |(at, _)| at + mark.trim_end().len()));
    let sentence = ends.filter(|end| !ends_in_abbreviation(&text[..*end])).max();
    if let Some(at) = sentence
        && text[..at].chars().count() * 2 >= max_chars
    {
        return text[..at].to_owned();
    }
    match with_next.rfind(' ') {
        Some(at) if at > 0 => text[..at].to_owned(),
        _ => kept.to_owned(),
    }
}

/// `e.g.`, `i.e.`, `etc.` and the like end no sentence.
fn ends_in_abbreviation(text: &str) -> bool {
    let word = text.rsplit([' ', '(']).next().unwrap_or_default();
    word.strip_suffix('.').is_some_and(|word| word.contains('.') || matches!(word, "etc" | "vs" | "cf" | "resp" | "no"))
}

#[cfg(test)]
mod tests;
