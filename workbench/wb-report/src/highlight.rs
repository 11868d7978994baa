//! Code with a little color: comments, strings, numbers, and words that are keywords in most languages.
//!
//! It knows no language and may be wrong; every piece goes through [`escape`], so that being wrong is only a wrong color.

use minijinja::Value;

use crate::{
    numbers::count,
    template::{escape, safe},
};

/// Longer texts are cut, with a note of how much is left out.
const LONGEST: usize = 8_000;

const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "del",
    "do",
    "elif",
    "else",
    "elsif",
    "end",
    "enum",
    "except",
    "export",
    "extends",
    "false",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "is",
    "lambda",
    "let",
    "loop",
    "match",
    "mod",
    "module",
    "move",
    "mut",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "range",
    "ref",
    "rescue",
    "return",
    "self",
    "Self",
    "static",
    "struct",
    "super",
    "switch",
    "this",
    "throw",
    "throws",
    "trait",
    "true",
    "True",
    "False",
    "try",
    "type",
    "typedef",
    "unless",
    "unsafe",
    "use",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
    "begin",
    "template",
    "typename",
    "using",
    "namespace",
    "defer",
    "chan",
    "map",
    "select",
    "const_cast",
];

/// Code as HTML.
pub fn code(text: &str) -> Value {
    // A lone quote is a lifetime in Rust and a string elsewhere.
    let mut rust = None;
    marked(text, LONGEST, |shown, at| {
        let (before, rest) = shown.split_at(at);
        let after_word = before.chars().last().is_some_and(is_word);
        let rust = *rust.get_or_insert_with(|| shown.contains("fn "));
        let (class, length) = piece(rest, rest.chars().next()?, rust, after_word);
        let tags = || (format!("<span class=\"{class}\">"), "</span>".to_owned());
        Some((length, (!class.is_empty()).then(tags)))
    })
}

/// The length in bytes of a piece of text, and the tags around it, if any.
type Piece = (usize, Option<(String, String)>);

/// A text as HTML, piece by piece, with a note of how much is left out of a longer one. `piece` is asked what stands in the
/// text at a byte, and says nothing at the text's end.
pub fn marked(text: &str, longest: usize, mut piece: impl FnMut(&str, usize) -> Option<Piece>) -> Value {
    let shown: String = text.chars().take(longest).collect();
    let mut html = String::with_capacity(shown.len() * 2);
    let mut at = 0;
    while let Some((length, tags)) = piece(&shown, at) {
        let (open, close) = tags.unwrap_or_default();
        html.push_str(&format!("{open}{}{close}", escape(&shown[at..at + length])));
        at += length;
    }
    let left = text.chars().count().saturating_sub(longest);
    if left > 0 {
        html.push_str(&format!("\n<span class=\"cut\">… {} more characters</span>", count(left as u64)));
    }
    safe(html)
}

/// The class and the length in bytes of what stands at the front; never of length 0.
fn piece(rest: &str, first: char, rust: bool, after_word: bool) -> (&'static str, usize) {
    let line = rest.find('\n').unwrap_or(rest.len());
    if rest.starts_with("//") {
        return ("com", line);
    }
    if rest.starts_with("/*") {
        return ("com", rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    if first == '#' && (rest.starts_with("# ") || rest.starts_with("#\n")) {
        return ("com", line);
    }
    if (first == '"' || first == '\'' && !after_word)
        && let Some(end) = closing(rest, first, line, rust)
    {
        return ("str", end);
    }
    if is_word(first) {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        let class = if KEYWORDS.contains(&word) {
            "key"
        } else if first.is_ascii_digit() {
            "num"
        } else {
            ""
        };
        return (class, end);
    }
    let plain = rest.find(|c: char| is_word(c) || matches!(c, '/' | '#' | '"' | '\'')).unwrap_or(rest.len());
    ("", plain.max(first.len_utf8()))
}

/// Finds the end of a string that opens at the front, if it ends on its line.
fn closing(rest: &str, quote: char, line: usize, rust: bool) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1).take_while(|(at, _)| *at < line) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => {
                let lifetime = quote == '\'' && rust && !rest.starts_with("'\\") && rest[1..at].chars().count() != 1;
                return if lifetime { None } else { Some(at + 1) };
            }
            _ => {}
        }
    }
    None
}

/// True for letters, digits and `_`.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, html: &str) {
        assert_eq!(code(text).as_str().unwrap(), html);
    }

    #[test]
    fn pieces_are_colored_and_escaped() {
        check(
            "let x = 5; // <b>",
            "<span class=\"key\">let</span> x = <span class=\"num\">5</span>; <span class=\"com\">// &lt;b&gt;</span>",
        );
        check("s = \"<script>\"", "s = <span class=\"str\">&quot;&lt;script&gt;&quot;</span>");
        check("x = 'a b'", "x = <span class=\"str\">&#39;a b&#39;</span>");
        check(
            "fn f<'a>(x: &'a str, c: char) { '\\n' }",
            "<span class=\"key\">fn</span> f&lt;&#39;a&gt;(x: &amp;&#39;a str, c: char) { <span class=\"str\">&#39;\\n&#39;</span> }",
        );
        check("# note\n#[test]", "<span class=\"com\"># note</span>\n#[test]");
        check("/* open <i>", "<span class=\"com\">/* open &lt;i&gt;</span>");
        check("\"open", "&quot;open");
        check("é\u{2028}'", "é⟨U+2028⟩&#39;");
    }

    #[test]
    fn long_code_is_cut_and_says_so() {
        let html = code(&"x".repeat(LONGEST + 1234));
        assert!(html.as_str().unwrap().ends_with("… 1,234 more characters</span>"));
    }
}
