//! SQL with its keywords marked, as little HTML as can be: a page has thousands of queries.

use minijinja::Value;

use crate::highlight::{is_word, marked};

/// Longer queries are cut, with a note of how much is left out.
const LONGEST: usize = 2_000;

const KEYWORDS: [&str; 36] = [
    "all",
    "and",
    "as",
    "asc",
    "avg",
    "between",
    "by",
    "case",
    "count",
    "desc",
    "distinct",
    "else",
    "end",
    "except",
    "exists",
    "from",
    "group",
    "having",
    "in",
    "intersect",
    "is",
    "join",
    "left",
    "like",
    "limit",
    "max",
    "min",
    "not",
    "null",
    "on",
    "or",
    "order",
    "select",
    "sum",
    "union",
    "where",
];

/// A query as HTML: keywords in `b`, strings in `i`, everything escaped.
pub fn sql(text: &str) -> Value {
    marked(text, LONGEST, |shown, at| {
        let rest = &shown[at..];
        let (tag, length) = piece(rest, rest.chars().next()?);
        Some((length, if tag.is_empty() { None } else { Some((format!("<{tag}>"), format!("</{tag}>"))) }))
    })
}

/// The tag and the length in bytes of what stands at the front; never of length 0.
fn piece(rest: &str, first: char) -> (&'static str, usize) {
    if matches!(first, '\'' | '"')
        && let Some(end) = rest[1..].find(first)
    {
        return ("i", end + 2);
    }
    if is_word(first) {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let is_keyword = KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(&rest[..end]));
        return (if is_keyword { "b" } else { "" }, end);
    }
    let plain = rest[first.len_utf8()..].find(|c: char| is_word(c) || matches!(c, '"' | '\''));
    ("", plain.map_or(rest.len(), |end| end + first.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, html: &str) {
        assert_eq!(sql(text).as_str().unwrap(), html);
    }

    #[test]
    fn keywords_and_strings_are_marked_and_all_is_escaped() {
        check("SELECT count(*) FROM t", "<b>SELECT</b> <b>count</b>(*) <b>FROM</b> t");
        check("where x = 'a and b'", "<b>where</b> x = <i>&#39;a and b&#39;</i>");
        check("x < 1 AND T1.from_id", "x &lt; 1 <b>AND</b> T1.from_id");
        check("\"open <b>", "&quot;open &lt;b&gt;");
        check("'</pre><script>'é\u{202e}", "<i>&#39;&lt;/pre&gt;&lt;script&gt;&#39;</i>é⟨U+202E⟩");
        check("", "");
    }

    #[test]
    fn long_queries_are_cut_and_say_so() {
        let html = sql(&"x".repeat(LONGEST + 1234));
        assert!(html.as_str().unwrap().ends_with("… 1,234 more characters</span>"));
    }
}
