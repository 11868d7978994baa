//! The time of day taken out of queries, so that a verdict does not depend on when it is made.

use super::lexer::{self, Kind};

/// The time that queries are told under [`Compat::Strict`](crate::Compat): the beginning of the year that the evaluator
/// puts in for `YEAR(CURDATE())`.
pub const NOW: &str = "2020-01-01 00:00:00";

/// Functions of date and time, and which of their arguments is a time.
const FUNCTIONS: [(&str, usize); 6] =
    [("date", 0), ("time", 0), ("datetime", 0), ("julianday", 0), ("unixepoch", 0), ("strftime", 1)];

/// A query with [`NOW`] in the place of `'now'` where a function of date and time has it as its time, of missing times
/// in such functions, and of `CURRENT_DATE` and its like.
pub(super) fn pinned(query: &str) -> String {
    let mut result = String::with_capacity(query.len());
    // For each open parenthesis: which argument is a time, and which one we are at; whether it is empty so far.
    let mut open: Vec<(Option<usize>, usize, bool)> = Vec::new();
    let mut last = "";
    for token in lexer::tokens(query) {
        let blank = matches!(token.kind, Kind::Space | Kind::Newline | Kind::LineComment | Kind::BlockComment);
        match (token.kind, token.text) {
            (Kind::Punctuation, "(") => {
                let function = FUNCTIONS.iter().find(|(name, _)| last.eq_ignore_ascii_case(name));
                if let Some((_, _, empty)) = open.last_mut() {
                    *empty = false;
                }
                open.push((function.map(|(_, at)| *at), 0, true));
            }
            (Kind::Punctuation, ")") => {
                if let Some((Some(0), 0, true)) = open.pop() {
                    result += &format!("'{NOW}'");
                }
            }
            (Kind::Punctuation, ",") => {
                if let Some((_, argument, _)) = open.last_mut() {
                    *argument += 1;
                }
            }
            (Kind::Text | Kind::Quoted, text) if text[1..text.len() - 1].eq_ignore_ascii_case("now") => {
                if matches!(open.last(), Some((Some(time), argument, _)) if time == argument) {
                    result += &format!("'{NOW}'");
                    mark(&mut open);
                    last = token.text;
                    continue;
                }
            }
            (Kind::Word, word) => {
                if let Some(literal) = of_keyword(word) {
                    result += &literal;
                    mark(&mut open);
                    last = token.text;
                    continue;
                }
            }
            _ => {}
        }
        if !blank {
            last = token.text;
            if !matches!(token.text, "(" | ")") {
                mark(&mut open);
            }
        }
        result += token.text;
    }
    result
}

/// The parenthesis that is open is not empty.
fn mark(open: &mut [(Option<usize>, usize, bool)]) {
    if let Some((_, _, empty)) = open.last_mut() {
        *empty = false;
    }
}

fn of_keyword(word: &str) -> Option<String> {
    let (date, time) = NOW.split_once(' ')?;
    match word.to_ascii_lowercase().as_str() {
        "current_timestamp" => Some(format!("'{NOW}'")),
        "current_date" => Some(format!("'{date}'")),
        "current_time" => Some(format!("'{time}'")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_pinned_where_they_are_times() {
        let rows = [
            ("select date('now', '-1 day')", "select date('2020-01-01 00:00:00', '-1 day')"),
            (
                "select strftime('%Y', 'NOW') - strftime('now', a)",
                "select strftime('%Y', '2020-01-01 00:00:00') - strftime('now', a)",
            ),
            (
                "select julianday( ) where d < Current_Date",
                "select julianday( '2020-01-01 00:00:00') where d < '2020-01-01'",
            ),
            ("select 'now', count(*) from t where title = 'now'", "select 'now', count(*) from t where title = 'now'"),
            ("select date((select 'now'))", "select date((select 'now'))"),
            ("select date(max(a, 'now'))", "select date(max(a, 'now'))"),
        ];
        for (query, expected) in rows {
            assert_eq!(pinned(query), expected);
        }
    }
}
