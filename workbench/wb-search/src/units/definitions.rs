//! Definitions by their lines, for languages without a grammar here, and the headings of prose.

use wb_code::{
    ChunkKind, CodeItem,
    prose::{FencePlace, FenceReader},
};

/// Words that stand before a definition and say nothing of its kind.
const MODIFIERS: [&str; 36] = [
    "pub",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "abstract",
    "override",
    "async",
    "export",
    "default",
    "local",
    "open",
    "sealed",
    "data",
    "inline",
    "virtual",
    "partial",
    "readonly",
    "suspend",
    "implicit",
    "lazy",
    "case",
    "mutating",
    "fileprivate",
    "unsafe",
    "extern",
    "tailrec",
    "operator",
    "infix",
    "companion",
    "required",
    "convenience",
    "indirect",
    "@objc",
];
/// Words that begin a function, and the name follows.
const FUNCTIONS: [&str; 14] = [
    "fn",
    "func",
    "fun",
    "function",
    "def",
    "defp",
    "defmacro",
    "defmacrop",
    "defguard",
    "sub",
    "subroutine",
    "proc",
    "procedure",
    "macro",
];
/// Words that begin a type or a module, and the name follows.
const TYPES: [&str; 20] = [
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "protocol",
    "extension",
    "object",
    "module",
    "namespace",
    "type",
    "record",
    "instance",
    "newtype",
    "defmodule",
    "defprotocol",
    "defimpl",
    "actor",
    "union",
    "table",
];

/// Items by their first lines; each reaches to the line before the next that is not further in.
pub(super) fn definitions(lines: &[&str]) -> Vec<CodeItem> {
    by_first_lines(lines, definition)
}

/// Items whose first lines `define` knows, from the comments above them to the line before the next that is not further in.
pub(super) fn by_first_lines(lines: &[&str], define: fn(&str) -> Option<(ChunkKind, String)>) -> Vec<CodeItem> {
    let mut heads: Vec<(usize, usize, ChunkKind, String)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        if let Some((kind, name)) = define(text) {
            heads.push((at, line.len() - text.len(), kind, name));
        }
    }
    let mut found = Vec::with_capacity(heads.len());
    for (number, (at, indentation, kind, name)) in heads.iter().enumerate() {
        let next = heads[number + 1..].iter().find(|(_, other, ..)| other <= indentation);
        let begin = |at: usize, least: usize| at - comments_above(lines, at).min(at - least);
        let end = next.map_or(lines.len(), |(next, ..)| begin(*next, at + 1));
        let before = number.checked_sub(1).map_or(0, |before| heads[before].0 + 1);
        let (first, code) = (begin(*at, before) + 1, at + 1);
        found.push(CodeItem {
            kind: *kind,
            name: name.clone(),
            lines: [first as u32, end as u32],
            code_line: code as u32,
        });
    }
    found
}

/// Number of lines of comments directly above a line.
fn comments_above(lines: &[&str], at: usize) -> usize {
    let is_comment = |line: &&&str| {
        let text = line.trim_start();
        ["//", "#", "--", "/*", "*", "@", ";", "%"].iter().any(|begin| text.starts_with(begin))
    };
    lines[..at].iter().rev().take_while(is_comment).count()
}

/// Kind and name, where a line defines something.
fn definition(text: &str) -> Option<(ChunkKind, String)> {
    let mut rest = text;
    let mut modified = false;
    loop {
        let (word, after) = word(rest);
        if word.is_empty() {
            return None;
        }
        let spaced = after.starts_with([' ', '\t']);
        let kind = match word {
            _ if !spaced => None,
            _ if FUNCTIONS.contains(&word) => Some(ChunkKind::Function),
            _ if TYPES.contains(&word) => Some(ChunkKind::Class),
            _ => None,
        };
        if let Some(kind) = kind {
            let name = name(after.trim_start());
            // `case class Name`, `enum class Name`, `data object Name`.
            match TYPES.contains(&name.as_str()) {
                true => rest = after.trim_start(),
                false => return (!name.is_empty()).then_some((kind, name)),
            }
        } else if spaced && (MODIFIERS.contains(&word) || word.starts_with('@')) {
            modified = true;
            rest = after.trim_start();
        } else {
            return by_shape(text, rest, modified);
        }
    }
}

/// Functions that no word begins: `public int size(`, `name() {`, `M.name = function(`, `name :: Type`.
fn by_shape(text: &str, rest: &str, modified: bool) -> Option<(ChunkKind, String)> {
    let function = |name: &str| (!name.is_empty()).then(|| (ChunkKind::Function, name.to_owned()));
    if let Some((before, _)) = text.split_once("= function") {
        return function(&name(before.trim_start_matches("local ").trim()));
    }
    if let Some((before, _)) = text.split_once(" :: ")
        && before.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\''))
    {
        return function(before);
    }
    if let Some((before, _)) = text.split_once("() {")
        && before.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.'))
    {
        return function(before);
    }
    let (before, _) = rest.split_once('(').filter(|_| modified && !text.trim_end().ends_with(';'))?;
    let last = before.trim_end().rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    function(last)
}

/// The first word and what is after it.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '@'))).unwrap_or(text.len());
    text.split_at(end)
}

/// A name with dots and colons, up to its parameters.
fn name(text: &str) -> String {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '\'' | '?' | '!')));
    text[..end.unwrap_or(text.len())].trim_end_matches([':', '.']).to_owned()
}

/// Sections of prose by their Markdown headings, each inside of those above it.
pub(super) fn headings(lines: &[&str]) -> Vec<CodeItem> {
    let mut fences = FenceReader::default();
    let mut heads: Vec<(usize, usize, &str)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let is_text = fences.read(line) == FencePlace::Outside;
        if is_text && (1..=6).contains(&level) && line[level..].starts_with(' ') {
            heads.push((at, level, line[level..].trim()));
        }
    }
    let section = |(number, (at, level, title)): (usize, &(usize, usize, &str))| {
        let next = heads[number + 1..].iter().find(|(_, other, _)| other <= level);
        let end = next.map_or(lines.len(), |(next, ..)| *next);
        let line = *at as u32 + 1;
        CodeItem { kind: ChunkKind::Class, name: (*title).to_owned(), lines: [line, end as u32], code_line: line }
    };
    heads.iter().enumerate().map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_define_something_are_known() {
        use ChunkKind::{Class, Function};
        for (line, expected) in [
            ("fun parse(text: String): Node {", Some((Function, "parse"))),
            ("  suspend inline fun <T> run() {", None),
            ("internal data class Point(val x: Int)", Some((Class, "Point"))),
            ("enum class Color {", Some((Class, "Color"))),
            ("case class User(name: String)", Some((Class, "User"))),
            ("implicit def catsStd: Monad = x", Some((Function, "catsStd"))),
            ("public override async Task<int> SizeAsync(int a)", Some((Function, "SizeAsync"))),
            ("public int size;", None),
            ("function M.setup(opts)", Some((Function, "M.setup"))),
            ("M.load = function(name)", Some((Function, "M.load"))),
            ("bats_run() {", Some((Function, "bats_run"))),
            ("defmodule Ecto.Query do", Some((Class, "Ecto.Query"))),
            ("def empty?(list), do: true", Some((Function, "empty?"))),
            ("parseValue :: Parser a", Some((Function, "parseValue"))),
            ("pub fn init(a: Allocator) !Self {", Some((Function, "init"))),
            ("return value", None),
            ("if (a) {", None),
        ] {
            let found = definition(line.trim_start());
            assert_eq!(found.as_ref().map(|(kind, name)| (*kind, name.as_str())), expected, "{line}");
        }
    }

    #[test]
    fn items_reach_to_the_next_that_is_not_further_in() {
        let text = "-- head\nclass A {\n  // one\n  fun a() {\n    x\n  }\n  fun b() = 1\n}\nclass B\n";
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<_> =
            definitions(&lines).into_iter().map(|item| (item.name, item.lines, item.code_line)).collect();
        let expected = [("A", [1, 8], 2), ("a", [3, 6], 4), ("b", [7, 8], 7), ("B", [9, 9], 9)];
        assert_eq!(found, expected.map(|(name, lines, code)| (name.to_owned(), lines, code)));
    }

    #[test]
    fn sections_stand_inside_of_each_other() {
        let text = "intro\n# A\n## B\n````\n```\n# no\n````\n# C\n~~~\n# no\n~~~\n";
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<_> = headings(&lines).into_iter().map(|item| (item.name, item.lines)).collect();
        assert_eq!(found, [("A", [2, 7]), ("B", [3, 7]), ("C", [8, 11])].map(|(name, lines)| (name.to_owned(), lines)));
    }
}
