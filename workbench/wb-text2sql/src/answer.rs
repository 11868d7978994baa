//! The query in a model's answer.

/// Takes the SQL out of an answer; `None` where there is none.
///
/// In this order: the last block in ``` fences that holds a query, whatever its language; what follows the last `SQL:`
/// (`SQLQuery:`, `Query:` and the like, at the start of a line); the first line that begins with `SELECT` or `WITH`. Of
/// what is found, the first statement counts: it ends at a `;` outside of quotes, at an empty line, or at a fence, and
/// its comments and white space become single spaces. Thoughts in `<think>` are no answer.
pub fn sql_of_answer(answer: &str) -> Option<String> {
    let answer = match answer.rfind("</think>") {
        Some(at) => &answer[at + "</think>".len()..],
        None => answer,
    };
    fenced(answer).or_else(|| labeled(answer)).or_else(|| bare(answer))
}

/// The last block in fences that holds a query; an open fence at the end counts as one.
fn fenced(answer: &str) -> Option<String> {
    let parts: Vec<&str> = answer.split("```").collect();
    parts.iter().skip(1).step_by(2).rev().find_map(|block| block_query(block))
}

fn block_query(block: &str) -> Option<String> {
    // The language stands on the first line, or right before the query.
    let word = block.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let block = if starts_query(block) { block } else { &block[word.len()..] };
    labeled(block).or_else(|| bare(block))
}

/// Query behind the last label.
fn labeled(text: &str) -> Option<String> {
    const LABELS: [&str; 6] = ["sql:", "sql query:", "sqlquery:", "query:", "answer:", "final sql:"];
    let mut found = None;
    let mut place = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '#' | '-' | '>'));
        let offset = place + line.len() - trimmed.len();
        for label in LABELS {
            let matches = trimmed.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label));
            if matches {
                let rest = &text[offset + label.len()..];
                let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '`'));
                if starts_query(rest) {
                    found = Some(rest);
                }
            }
        }
        place += line.len();
    }
    statement(found?)
}

/// The first line that begins a query.
fn bare(text: &str) -> Option<String> {
    let mut place = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '(' | '"'));
        if starts_query(trimmed) {
            return statement(&text[place + line.len() - trimmed.len()..]);
        }
        place += line.len();
    }
    // Within a sentence only in capitals: `the query is SELECT ...`.
    statement(&text[text.find("SELECT ")?..])
}

fn starts_query(text: &str) -> bool {
    let text = text.trim_start();
    ["select", "with"].into_iter().any(|word| {
        let rest = text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)).map(|_| &text[word.len()..]);
        rest.is_some_and(|rest| {
            // `With this query, ...` is prose: a name and AS follow in SQL.
            let sql = word == "select"
                || rest.to_ascii_lowercase().contains(" as (")
                || rest.to_ascii_lowercase().contains(" as(");
            rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '*' | '(')) && sql
        })
    })
}

/// The first statement of a text, on one line.
fn statement(text: &str) -> Option<String> {
    // On one line a comment would swallow what follows it, and an apostrophe in it is no quote.
    let text = &without_comments(text);
    let mut quote = None;
    let mut end = text.len();
    let mut newline = false;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => continue,
            None if matches!(c, '\'' | '"') || c == '`' && opens_name(text, at) => quote = Some(c),
            None if matches!(c, ';' | '`') || c == '\n' && newline => {
                end = at;
                break;
            }
            None => {}
        }
        newline = c == '\n' || newline && c.is_whitespace();
    }
    // A quote that never closes was an apostrophe of prose: then a line is a statement.
    if quote.is_some() {
        end = text.find([';', '`', '\n']).unwrap_or(text.len());
    }
    let flat = flattened(&text[..end]);
    (!flat.is_empty()).then_some(flat)
}

/// True where the backtick at a place begins a quoted name, as MySQL and SQLite have it, and does not end code in prose.
fn opens_name(text: &str, at: usize) -> bool {
    let (before, after) = (text[..at].chars().next_back(), &text[at + 1..]);
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' '))
    };
    before.is_some_and(|c| c.is_whitespace() || matches!(c, '.' | ',' | '(' | '=' | '<' | '>'))
        && after.split_once('`').is_some_and(|(name, _)| is_name(name))
}

/// A text whose SQL comments outside of quotes are spaces: `-- ...` to the end of the line, and `/* ... */`.
pub(crate) fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut quote = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let comment = match quote {
            Some(_) => None,
            None if rest.starts_with("--") => Some(rest.find('\n').unwrap_or(rest.len())),
            None if rest.starts_with("/*") => Some(rest.find("*/").map_or(rest.len(), |end| end + 2)),
            None => None,
        };
        if let Some(length) = comment {
            kept.push(' ');
            rest = &rest[length..];
            continue;
        }
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            _ => {}
        }
        kept.push(c);
        rest = &rest[c.len_utf8()..];
    }
    kept
}

/// A query on one line, without its comments; what stands in quotes stays.
pub(crate) fn on_one_line(sql: &str) -> String {
    flattened(&without_comments(sql))
}

/// A text with single spaces outside of quotes.
fn flattened(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    let mut quote = None;
    for c in text.trim().chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c.is_whitespace() => {
                if !flat.ends_with(' ') {
                    flat.push(' ');
                }
                continue;
            }
            _ => {}
        }
        // No line of a file of predictions can hold these.
        flat.push(if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c });
    }
    flat
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::sql_of_answer;

    #[test]
    fn answers_are_read() {
        for (answer, expected) in [
            ("SELECT a FROM t", Some("SELECT a FROM t")),
            ("select a\nfrom t\nwhere b = 'x;y'; drop table t", Some("select a from t where b = 'x;y'")),
            ("Sure!\n```sql\nSELECT a\n  FROM t;\n```\nThis counts.", Some("SELECT a FROM t")),
            ("```\nSELECT 1\n```\nBetter:\n```sqlite\nSELECT 2\n```", Some("SELECT 2")),
            ("```SELECT 1```", Some("SELECT 1")),
            ("```sql\nSELECT a FROM t", Some("SELECT a FROM t")),
            ("```python\nprint(1)\n```\nSQL: SELECT a FROM t\n\nIt selects a.", Some("SELECT a FROM t")),
            ("**SQL Query:** `SELECT a FROM t` gives it", Some("SELECT a FROM t")),
            ("The query is SELECT count(*) FROM t; and no other", Some("SELECT count(*) FROM t")),
            ("<think>SELECT 1</think>SELECT 2", Some("SELECT 2")),
            ("With this in mind:\nSELECT a FROM t", Some("SELECT a FROM t")),
            ("WITH x AS (SELECT 1) SELECT * FROM x", Some("WITH x AS (SELECT 1) SELECT * FROM x")),
            (
                "SELECT name FROM t WHERE x = \"a  b\"   AND y = 1",
                Some("SELECT name FROM t WHERE x = \"a  b\" AND y = 1"),
            ),
            ("SELECT a FROM t\nThat's it; really", Some("SELECT a FROM t")),
            (
                "```sql\nSELECT `name` FROM `the singers` s WHERE s.`age` > 1\n```",
                Some("SELECT `name` FROM `the singers` s WHERE s.`age` > 1"),
            ),
            ("Use `SELECT a FROM t` where `t` is it", Some("SELECT a FROM t")),
            ("SELECT name, -- the name\n age\nFROM singer", Some("SELECT name, age FROM singer")),
            ("SELECT name -- the singer's name\nFROM singer", Some("SELECT name FROM singer")),
            ("SELECT a /* of all; */ FROM t WHERE b = '--x'", Some("SELECT a FROM t WHERE b = '--x'")),
            ("I cannot select a table.", None),
            ("", None),
            ("```\n```", None),
        ] {
            assert_eq!(sql_of_answer(answer).as_deref(), expected, "{answer}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(answer in "(```|sql|SQL:|select |SELECT |with |;|\n|'|\"|é|`| |x|</think>){0,24}") {
            if let Some(sql) = sql_of_answer(&answer) {
                prop_assert!(!sql.is_empty() && !sql.contains('\n'));
            }
        }
    }
}
