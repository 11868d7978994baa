//! Comment markers off: from the comments of one function to the text that they hold.

use std::ops::Range;

use super::layout::dedent;
use crate::languages::language::{DocKind, LanguageRules};

/// A comment or an attribute that a walk over a tree has passed.
pub(crate) struct Note {
    pub(crate) range: Range<usize>,
    pub(crate) is_attribute: bool,
}

/// The text of doc comments in the order of the source, without markers and common indentation.
pub(crate) fn text(source: &str, docs: &[(DocKind, Range<usize>)], rules: &dyn LanguageRules) -> String {
    let mut text = String::new();
    let mut lines = String::new();
    for (kind, range) in docs {
        let Some(comment) = source.get(range.clone()) else { continue };
        let own = rules.comment_text(comment);
        if *kind == DocKind::Block {
            flush(&mut lines, &mut text);
            text.push_str(&own.unwrap_or_else(|| block(comment)));
            text.push('\n');
        } else {
            let line = own.unwrap_or_else(|| line(comment));
            if !rules.is_directive(&line) {
                lines.push_str(&line);
                lines.push('\n');
            }
        }
    }
    flush(&mut lines, &mut text);
    text.trim_matches('\n').to_owned()
}

fn flush(lines: &mut String, text: &mut String) {
    if !lines.is_empty() {
        text.push_str(&dedent(lines));
        lines.clear();
    }
}

/// A line comment without its marker and the one space after it.
fn line(comment: &str) -> String {
    for marker in ["///", "//!", "//"] {
        if let Some(text) = comment.strip_prefix(marker) {
            return text.strip_prefix(' ').unwrap_or(text).to_owned();
        }
    }
    let text = comment.trim_start_matches('#');
    text.strip_prefix(' ').unwrap_or(text).to_owned()
}

/// A block comment without `/**`, `*/` and the stars that lead its lines.
fn block(comment: &str) -> String {
    if let Some(body) = comment.strip_prefix("=begin") {
        return dedent(body.trim_end().strip_suffix("=end").unwrap_or(body)).trim_matches('\n').to_owned();
    }
    let body = ["/**", "/*!", "/*"].iter().find_map(|marker| comment.strip_prefix(marker)).unwrap_or(comment);
    let body = body.trim_end().strip_suffix("*/").unwrap_or(body);
    let body = body.trim_end_matches('*');
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    let filled = || rest.lines().filter(|line| !line.trim().is_empty());
    // A line or two may have lost its star.
    let starred = filled().filter(|line| line.trim_start().starts_with('*')).count() * 2 > filled().count();
    let rest: Vec<&str> = rest.lines().map(|line| if starred { unstarred(line) } else { line }).collect();
    let rest = dedent(&rest.join("\n"));
    format!("{}\n{rest}", first.trim()).trim_matches('\n').trim_end().to_owned()
}

fn unstarred(line: &str) -> &str {
    let text = line.trim_start();
    match text.strip_prefix('*') {
        Some(text) => text.strip_prefix(' ').unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lose_their_stars() {
        for (comment, expected) in [
            ("/** One. */", "One."),
            ("/**\n * One.\n *\n *   indented\n */", "One.\n\n  indented"),
            ("/**\n     One\n       two\n */", "One\n  two"),
            ("/*! Brief.\n * More. */", "Brief.\nMore."),
            ("/** a * b */", "a * b"),
            ("/***/", ""),
            ("/**\n**/", ""),
            ("/**\n * One.\n Lost star.\n * Two.\n */", "One.\nLost star.\nTwo."),
            ("/**\n * - x\n * * y\n **/", "- x\n* y"),
            ("=begin\nAll of it\n=end", "All of it"),
        ] {
            assert_eq!(block(comment), expected, "{comment}");
        }
    }
}
