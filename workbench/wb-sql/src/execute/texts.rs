//! Changes of the SQL texts before they run: small repairs, and `DISTINCT` taken out.

use std::borrow::Cow;

use super::{
    lexer::{self, Kind, Token},
    python::is_space,
};
use crate::Compat;

/// The statement of a line of a Spider prediction file: the text before a tab; under [`Compat::Official`] every
/// `value` in it is replaced by `1`, as the evaluator does for models that predict no values.
pub fn prediction_of_line(line: &str, compat: Compat) -> String {
    let line = line.trim_matches(is_space);
    let text = line.split('\t').next().unwrap_or(line);
    match compat {
        Compat::Official => text.replace("value", "1"),
        Compat::Strict => text.to_owned(),
    }
}

/// Operators that were torn apart: `> =`, `< =`, `! =`. Strict leaves quoted texts and comments as they are.
pub(super) fn repaired(text: &str, compat: Compat) -> String {
    let repair = |text: &str| text.replace("> =", ">=").replace("< =", "<=").replace("! =", "!=");
    match compat {
        Compat::Official => repair(text),
        Compat::Strict => outside_of_quotes(text, repair),
    }
}

/// Applies a change to the stretches between quoted texts and comments.
fn outside_of_quotes(text: &str, change: impl Fn(&str) -> String) -> String {
    let plain = |token: &Token<'_>| {
        let name = token.text.starts_with(['`', '´', '[']);
        !name && !matches!(token.kind, Kind::Text | Kind::Quoted | Kind::LineComment | Kind::BlockComment)
    };
    let tokens = lexer::tokens(text);
    let stretches = tokens.chunk_by(|one, other| plain(one) && plain(other));
    let mut all = String::with_capacity(text.len());
    for stretch in stretches {
        let joined: String = stretch.iter().map(|token| token.text).collect();
        all += &if stretch.iter().all(plain) { change(&joined) } else { joined };
    }
    all
}

/// The first statement without the word `DISTINCT`; texts, comments and quoted names keep theirs. `None` if there is
/// no statement.
pub(super) fn without_distinct(text: &str) -> Option<String> {
    let tokens = lexer::first_statement(text);
    if tokens.is_empty() {
        return None;
    }
    let kept = |token: &&Token<'_>| !token.text.eq_ignore_ascii_case("distinct");
    Some(tokens.iter().filter(kept).map(|token| token.text).collect())
}

/// `YEAR(CURDATE())` of MySQL becomes 2020, the year in which the data were made.
///
/// The evaluator's pattern takes the space behind it along and knows no beginning of a word; strict puts one space
/// there and leaves quoted texts alone.
pub(super) fn with_current_year(text: &str, compat: Compat) -> Cow<'_, str> {
    // Nearly no text has it.
    if !contains_ignoring_case(text, "curdate") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(match compat {
        Compat::Official => replaced_year(text, "2020"),
        Compat::Strict => outside_of_quotes(text, |stretch| replaced_year(stretch, "2020 ")),
    })
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    let first = word[0] | 0x20;
    text.windows(word.len()).any(|window| window[0] | 0x20 == first && window.eq_ignore_ascii_case(word))
}

fn replaced_year(text: &str, year: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(behind) = year_of_curdate(rest) {
            result += year;
            rest = behind;
        } else {
            result.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    result
}

/// Text behind `YEAR ( CURDATE ( ) )` and the spaces behind, if the text begins with it.
fn year_of_curdate(text: &str) -> Option<&str> {
    let mut rest = text;
    for part in ["year", "(", "curdate", "(", ")", ")"] {
        let (head, tail) = (rest.get(..part.len())?, rest.get(part.len()..)?);
        if !head.eq_ignore_ascii_case(part) {
            return None;
        }
        rest = tail.trim_start_matches(is_space);
    }
    Some(rest)
}

/// True where the order of rows matters.
///
/// Official: the words `order by`, with one space between, are anywhere in the gold text. Strict: the outermost query
/// has an `ORDER BY`.
pub(super) fn order_matters(gold: &str, compat: Compat) -> bool {
    if compat == Compat::Official {
        return gold.to_lowercase().contains("order by");
    }
    let mut depth = 0_i64;
    let mut last = "";
    for token in lexer::tokens(gold) {
        match token.kind {
            Kind::Space | Kind::Newline | Kind::LineComment | Kind::BlockComment => continue,
            Kind::Punctuation if token.text == "(" => depth += 1,
            Kind::Punctuation if token.text == ")" => depth -= 1,
            Kind::Word if depth == 0 && last.eq_ignore_ascii_case("order") && token.text.eq_ignore_ascii_case("by") => {
                return true;
            }
            _ => {}
        }
        last = token.text;
    }
    false
}

/// True where there is more than one statement, as Python's `sqlite3` counts: anything but space and comments behind the
/// semicolon of the first. Semicolons before it do not count.
pub(super) fn has_several_statements(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let (mut at, mut begun, mut ended) = (0, false, false);
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let find = |closer: &[u8], from: usize| {
            let found = rest.get(from..).and_then(|rest| rest.windows(closer.len()).position(|one| one == closer));
            found.map_or(bytes.len(), |found| at + from + found + closer.len())
        };
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0c => at += 1,
            b'-' if rest.starts_with(b"--") => at = find(b"\n", 2),
            b'/' if rest.starts_with(b"/*") => at = find(b"*/", 2),
            _ if ended => return true,
            b';' => {
                ended = begun;
                at += 1;
            }
            b'\'' | b'"' | b'`' => {
                begun = true;
                at = find(&[byte], 1);
            }
            b'[' => {
                begun = true;
                at = find(b"]", 1);
            }
            _ => {
                begun = true;
                at += 1;
            }
        }
    }
    false
}

/// Nothing but spaces, comments and semicolons.
pub(crate) fn is_blank(sql: &str) -> bool {
    let mut rest = sql.trim_start_matches([' ', '\t', '\n', '\r', '\x0c', ';']);
    loop {
        let after = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return rest.is_empty();
        };
        rest = after.trim_start_matches([' ', '\t', '\n', '\r', '\x0c', ';']);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_is_taken_out_as_a_token() {
        let rows = [
            ("SELECT DISTINCT a FROM t", "SELECT  a FROM t"),
            ("SELECT count(DISTINCT a) FROM t", "SELECT count( a) FROM t"),
            (
                "SELECT 'distinct', \"distinct\" -- distinct\n, distinct_a",
                "SELECT 'distinct', \"distinct\" -- distinct\n, distinct_a",
            ),
            ("SELECT a /* DISTINCT */ FROM t; SELECT 2", "SELECT a /* DISTINCT */ FROM t; "),
        ];
        for (text, expected) in rows {
            assert_eq!(without_distinct(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(without_distinct(" \n"), None);
    }

    #[test]
    fn the_year_of_today_is_2020() {
        let official = |text: &'static str| with_current_year(text, Compat::Official).into_owned();
        assert_eq!(official("a = year ( CURDATE() )  AND b"), "a = 2020AND b");
        let strict = with_current_year("a = YEAR(CURDATE()) AND b = 'YEAR(CURDATE())'", Compat::Strict).into_owned();
        assert_eq!(strict, "a = 2020 AND b = 'YEAR(CURDATE())'");
    }

    #[test]
    fn repairs_stay_out_of_texts_when_strict() {
        assert_eq!(repaired("a > = 'x > = y'", Compat::Official), "a >= 'x >= y'");
        assert_eq!(repaired("a > = 'x > = y' and b ! = 2", Compat::Strict), "a >= 'x > = y' and b != 2");
    }

    #[test]
    fn order_is_found_in_the_text_or_in_the_query() {
        let rows = [
            ("select a from t order by b", true, true),
            ("select a from t ORDER  BY b", false, true),
            ("select a from (select a from t order by b)", true, false),
            ("select 'order by' from t", true, false),
            ("select a from t -- order by", true, false),
            ("select row_number() over (order by a) from t", true, false),
        ];
        for (text, official, strict) in rows {
            assert_eq!(order_matters(text, Compat::Official), official, "{text}");
            assert_eq!(order_matters(text, Compat::Strict), strict, "{text}");
        }
    }

    #[test]
    fn a_text_can_be_without_a_statement() {
        for blank in ["", " ;\n", "-- select 1", "/* x */ ; -- y\n /* z", "--"] {
            assert!(is_blank(blank), "{blank}");
        }
        assert!(!is_blank("-- x\nselect 1") && !is_blank("/**/ ; x"));
    }

    #[test]
    fn statements_are_counted_as_python_counts_them() {
        for one in
            ["select 1", ";select 1", "select 1; -- x", "select 1; /* x", "select ';'", "select \"a;\" ; \n", "-- a;b"]
        {
            assert!(!has_several_statements(one), "{one}");
        }
        for several in ["select 1;;", "select 1; select 2", "select 1 ; x"] {
            assert!(has_several_statements(several), "{several}");
        }
    }

    #[test]
    fn a_line_ends_at_its_tab_and_values_become_one() {
        assert_eq!(
            prediction_of_line(" select a from t where b = value\tdb\n", Compat::Official),
            "select a from t where b = 1"
        );
        assert_eq!(prediction_of_line("select value", Compat::Strict), "select value");
    }
}
