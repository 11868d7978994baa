//! Statements of SQL that define something: tables, views, indexes, triggers, functions.

use wb_code::{ChunkKind, CodeItem};

use super::definitions::by_first_lines;

/// Words between `create` and what is created.
const MODIFIERS: [&str; 17] = [
    "or",
    "replace",
    "alter",
    "temp",
    "temporary",
    "global",
    "local",
    "unlogged",
    "unique",
    "virtual",
    "materialized",
    "recursive",
    "external",
    "foreign",
    "constraint",
    "clustered",
    "nonclustered",
];
/// Words between what is created and its name.
const BEFORE_NAMES: [&str; 4] = ["concurrently", "if", "not", "exists"];

/// Items by the statements' first lines; each reaches to the line before the next.
pub(super) fn statements(lines: &[&str]) -> Vec<CodeItem> {
    by_first_lines(lines, definition)
}

/// Kind and name, where a line begins a statement that defines something.
fn definition(text: &str) -> Option<(ChunkKind, String)> {
    let mut words = text.split_whitespace();
    let mut next = || words.next().map(|word| (word, word.to_ascii_lowercase()));
    if next()?.1 != "create" {
        return None;
    }
    let kind = loop {
        match next()?.1.as_str() {
            "table" | "view" | "index" | "trigger" | "type" | "domain" | "sequence" | "schema" | "database" => {
                break ChunkKind::Class;
            }
            "function" | "procedure" | "aggregate" | "macro" => break ChunkKind::Function,
            word if MODIFIERS.contains(&word) => {}
            _ => return None,
        }
    };
    let name = loop {
        let (word, lower) = next()?;
        if !BEFORE_NAMES.contains(&lower.as_str()) {
            break word;
        }
    };
    let name = name.split(['(', ';', ',']).next().unwrap_or_default();
    let name: String = name.chars().filter(|c| !matches!(c, '"' | '`' | '[' | ']' | '\'')).collect();
    // An index may have no name: `create index on orders (day)`.
    (!name.is_empty() && !name.eq_ignore_ascii_case("on")).then_some((kind, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_define_something_are_known() {
        use ChunkKind::{Class, Function};
        for (line, expected) in [
            ("CREATE TABLE IF NOT EXISTS chunks (", Some((Class, "chunks"))),
            ("create virtual table notes_fts using fts5(", Some((Class, "notes_fts"))),
            ("CREATE TABLE \"Order Lines\"(id int);", Some((Class, "Order"))),
            ("CREATE TABLE [dbo].[Orders](", Some((Class, "dbo.Orders"))),
            ("CREATE OR REPLACE FUNCTION app.total(day date)", Some((Function, "app.total"))),
            ("CREATE UNIQUE INDEX CONCURRENTLY by_day ON orders(day);", Some((Class, "by_day"))),
            ("CREATE INDEX ON orders (day);", None),
            ("CREATE TABLE", None),
            ("CREATE USER reader;", None),
            ("SELECT 1;", None),
            ("", None),
        ] {
            let found = definition(line);
            assert_eq!(found.as_ref().map(|(kind, name)| (*kind, name.as_str())), expected, "{line}");
        }
    }

    #[test]
    fn a_statement_has_the_comments_above_it() {
        let text = "-- Days.\nCREATE TABLE days (\n  day date\n);\n\n-- Orders.\ncreate table orders (id int);\n";
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<_> =
            statements(&lines).into_iter().map(|item| (item.name, item.lines, item.code_line)).collect();
        assert_eq!(found, [("days".to_owned(), [1, 5], 2), ("orders".to_owned(), [6, 7], 7)]);
    }
}
