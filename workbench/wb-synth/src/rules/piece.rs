//! From a snippet to its functions: the code without its documentation, the documentation as prose, the name.

use wb_code::{Language, anchor_prose, documented_functions, rewrites::ParsedSource};

use crate::Snippet;

/// More of a description than this is no query any more.
const MAX_PROSE_CHARS: usize = 600;

/// One function, or one whole snippet that has no documented function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its place among the pieces of the snippet.
    pub(super) index: usize,
    pub(super) code: String,
    /// The first paragraph of the documentation as one line of prose; empty where there is none.
    pub(super) prose: String,
    /// The name of the function; empty where there is none.
    pub(super) name: String,
    /// First and last line in the file that the snippet is from; zeros where it is not known.
    pub(super) lines: [u32; 2],
}

/// The documented functions of a snippet; else the snippet as it is, with what stands before it as documentation.
pub(super) fn pieces(snippet: &Snippet, language: Language) -> Vec<Piece> {
    let functions = documented_functions(&snippet.text, language);
    if functions.is_empty() {
        let code = snippet.text.trim_end().to_owned();
        let name = function_name(&code, language);
        let prose = prose(&snippet.context, language);
        return vec![Piece { index: 0, code, prose, name, lines: snippet.origin.lines }];
    }
    let shift = snippet.origin.lines[0];
    let in_file = |line: u32| if shift == 0 { 0 } else { shift.saturating_add(line).saturating_sub(1) };
    let piece = |(index, function): (usize, wb_code::DocumentedFunction)| Piece {
        index,
        prose: prose(&function.doc, language),
        name: function.name,
        lines: function.lines.map(in_file),
        code: function.code,
    };
    functions.into_iter().enumerate().map(piece).collect()
}

/// The first paragraph of a doc comment as plain prose.
fn prose(doc: &str, language: Language) -> String {
    let doc = doc.trim_start();
    let end =
        doc.match_indices('\n').find(|(at, _)| doc[at + 1..].lines().next().is_none_or(|line| line.trim().is_empty()));
    let first = anchor_prose(end.map_or(doc, |(at, _)| &doc[..at]), language, MAX_PROSE_CHARS);
    // A first paragraph of markup alone says nothing.
    if first.is_empty() { anchor_prose(doc, language, MAX_PROSE_CHARS) } else { first }
}

fn function_name(code: &str, language: Language) -> String {
    let Ok(source) = ParsedSource::parse(code, language) else { return String::new() };
    source.function_names().into_iter().next().unwrap_or_default()
}

/// Names for a function that has lost its own.
const PLAIN: [&str; 4] = ["f", "fn_", "func", "function_"];

/// The code with a plain name wherever the function's own stands as a word: where it is defined and where it is called.
pub(super) fn nameless(code: &str, name: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    // Of `Stack::push` and `exports.parseURL` the last word stands in the code.
    let name = name.rsplit(|c| !is_part(c)).find(|word| !word.is_empty()).unwrap_or(name);
    let is_taken = |plain: &&str| code.split(|c| !is_part(c)).any(|word| word == *plain);
    let Some(plain) = PLAIN.iter().find(|plain| !is_taken(plain)) else { return code.to_owned() };
    let (mut new, mut kept) = (String::with_capacity(code.len()), 0);
    for (at, _) in code.match_indices(name) {
        let end = at + name.len();
        if !code[..at].ends_with(is_part) && !code[end..].starts_with(is_part) {
            new.push_str(&code[kept..at]);
            new.push_str(plain);
            kept = end;
        }
    }
    new + &code[kept..]
}

/// The words of an identifier in lower case: `HTTPServer_readAll2` is `http server read all 2`.
pub(super) fn words(identifier: &str) -> Vec<String> {
    let last = identifier.rsplit(['.', ':', '#']).next().unwrap_or_default();
    let chars: Vec<char> = last.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| chars.get(before));
        let after = chars.get(at + 1);
        let new_word = before.is_some_and(|before| {
            c.is_uppercase() && (before.is_lowercase() || after.is_some_and(|after| after.is_lowercase()))
                || c.is_ascii_digit() != before.is_ascii_digit()
        });
        if !c.is_alphanumeric() || new_word {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_words() {
        for (name, expected) in [
            ("read_all_lines", "read all lines"),
            ("HTTPServer_readAll2", "http server read all 2"),
            ("exports.parseURL", "parse url"),
            ("Stack::push", "push"),
            ("__init__", "init"),
            ("", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn a_function_loses_its_name_and_nothing_else() {
        let code = "def load_it(a):\n    # load_its friends\n    return load_it(a - 1) + reload_it + f2";
        let expected = "def f(a):\n    # load_its friends\n    return f(a - 1) + reload_it + f2";
        assert_eq!(nameless(code, "load_it"), expected);
        assert_eq!(nameless("fn push(f: F) { f() }", "Stack::push"), "fn fn_(f: F) { f() }");
        assert_eq!(nameless("x = ü.größe", "größe"), "x = ü.f");
        assert_eq!(nameless("f fn_ func function_ a", "a"), "f fn_ func function_ a");
    }

    #[test]
    fn a_snippet_falls_into_its_functions() {
        let snippet = Snippet {
            id: "a".into(),
            language: "python".into(),
            text: "def f(a):\n    \"\"\"One of\n    them.\n\n    More.\n    \"\"\"\n    return a\n\ndef g():\n    'Two.'\n    return 2\n".into(),
            context: "Not this.".into(),
            origin: wb_core::Origin { lines: [11, 21], ..Default::default() },
        };
        let found = pieces(&snippet, Language::Python);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].prose.as_str(), found[0].code.as_str()), ("One of them.", "def f(a):\n    return a"));
        assert_eq!((found[1].name.as_str(), found[1].lines), ("g", [19, 21]));
        let bare = Snippet { text: "def load_it(a):\n    return a\n".into(), ..snippet };
        let found = pieces(&bare, Language::Python);
        assert_eq!(
            (found[0].prose.as_str(), found[0].name.as_str(), found[0].lines),
            ("Not this.", "load_it", [11, 21])
        );
    }
}
