//! A lexer for SQL as databases read it, for the strict judge, and what its grammar lacks put into the words that it has.

use super::{ParseError, numbers::number};

/// The tokens of `sql`, in lower case but for strings, in the words that the parser knows:
///
/// * strings are one token whatever touches them, `''` within is a quote, comments are dropped, operators need no
///   spaces, `<>` and `==` are `!=` and `=`, a sign in front of a number belongs to it;
/// * names may stand in backticks or square brackets, and behind some keywords in double quotes;
/// * `LEFT`, `OUTER` and their like before `JOIN` are dropped, a comma in FROM is a `join`, an alias behind a table gets
///   its `as`, the alias of a result column is dropped;
/// * `IS NOT` is `not is`, `NULL` is a value, of a list of literals behind `IN` the last is kept.
pub(super) fn tokenize(sql: &str) -> Result<Vec<String>, ParseError> {
    Ok(rewrite(&lex(sql)?))
}

fn lex(sql: &str) -> Result<Vec<String>, ParseError> {
    let text: Vec<char> = sql.chars().collect();
    let mut tokens: Vec<String> = Vec::new();
    let mut place = 0;
    while place < text.len() {
        let rest = &text[place..];
        let touches = place > 0 && !text[place - 1].is_whitespace();
        let pair = (rest[0], rest.get(1).copied().unwrap_or(' '));
        let length = match pair {
            (c, _) if c.is_whitespace() => 1,
            ('-', '-') => rest.iter().take_while(|&&c| c != '\n').count(),
            ('/', '*') => {
                let end = rest.windows(2).skip(2).position(|pair| pair == ['*', '/']);
                end.map_or(rest.len(), |end| end + 4)
            }
            ('\'' | '"', _) => {
                let (string, length) = string(rest)?;
                let named = rest[0] == '"' && tokens.last().is_some_and(|last| wants_name(last));
                tokens.push(if named { string.to_lowercase() } else { format!("\"{string}\"") });
                length
            }
            ('`', _) | ('[', _) => {
                let close = if rest[0] == '`' { '`' } else { ']' };
                let length = rest.iter().skip(1).position(|&c| c == close).ok_or(ParseError::Quote { count: 1 })?;
                push_name(&mut tokens, &rest[1..=length], touches);
                length + 2
            }
            ('<', '>') | ('!', '=') => push(&mut tokens, "!=", 2),
            ('<', '=') => push(&mut tokens, "<=", 2),
            ('>', '=') => push(&mut tokens, ">=", 2),
            ('=', '=') => push(&mut tokens, "=", 2),
            ('-' | '+', next) if (next.is_ascii_digit() || next == '.') && wants_value(tokens.last()) => {
                let length = 1 + word(&rest[1..]);
                push_name(&mut tokens, &rest[..length], touches);
                length
            }
            (c, _) if is_word(c) => {
                let length = word(rest);
                push_name(&mut tokens, &rest[..length], touches);
                length
            }
            (c, _) => push(&mut tokens, c.encode_utf8(&mut [0; 4]), 1),
        };
        place += length;
    }
    Ok(tokens)
}

fn push(tokens: &mut Vec<String>, token: &str, length: usize) -> usize {
    tokens.push(token.to_owned());
    length
}

/// Appends a name; one that touches a dot before or after belongs to the one before: `` `t`.`a` `` is `t.a`.
fn push_name(tokens: &mut Vec<String>, name: &[char], touches: bool) {
    let dotted = name.first() == Some(&'.') && !name.get(1).is_some_and(char::is_ascii_digit);
    let name = name.iter().collect::<String>().to_lowercase();
    let starts_name = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    match tokens.last_mut() {
        Some(last) if touches && starts_name(last) && (dotted || last.ends_with('.')) => last.push_str(&name),
        _ => tokens.push(name),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '$')
}

fn word(rest: &[char]) -> usize {
    rest.iter().take_while(|&&c| is_word(c)).count()
}

/// True where what stands behind `last` in double quotes is a name; elsewhere it is a string, as in Spider's gold queries.
fn wants_name(last: &str) -> bool {
    matches!(last, "select" | "distinct" | "from" | "join" | "where" | "on" | "by" | "having")
}

/// True where a sign behind `last` belongs to a number.
fn wants_value(last: Option<&String>) -> bool {
    let words = ["select", "and", "between", "limit", "offset", "in", "like", "where", "when", "then", "else", "by"];
    last.is_none_or(|last| {
        words.contains(&last.as_str()) || !last.starts_with(is_word) && last != ")" && !last.starts_with('"')
    })
}

/// The string that `rest` begins with, without its quotes, and its length with them.
fn string(rest: &[char]) -> Result<(String, usize), ParseError> {
    let quote = rest[0];
    let mut string = String::new();
    let mut place = 1;
    loop {
        match (rest.get(place), rest.get(place + 1)) {
            (None, _) => return Err(ParseError::Quote { count: 1 }),
            (Some(&c), Some(&next)) if c == quote && next == quote => {
                string.push(c);
                place += 2;
            }
            (Some(&c), _) if c == quote => return Ok((string, place + 1)),
            (Some(&c), _) => {
                string.push(c);
                place += 1;
            }
        }
    }
}

/// The clause that a token stands in, as far as rewriting needs it.
#[derive(Clone, Copy, PartialEq)]
enum Clause {
    Select,
    From,
    Other,
}

fn rewrite(tokens: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(tokens.len());
    // The clauses of the queries around, one for each open bracket.
    let mut around: Vec<Clause> = Vec::new();
    let mut clause = Clause::Other;
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        let next = tokens.get(place + 1).map_or("", String::as_str);
        place += 1;
        match token.as_str() {
            "(" => around.push(clause),
            ")" => clause = around.pop().unwrap_or(Clause::Other),
            "select" => clause = Clause::Select,
            "from" => clause = Clause::From,
            "on" | "where" | "group" | "having" | "order" | "limit" | "union" | "intersect" | "except" => {
                clause = Clause::Other;
            }
            "join" => clause = Clause::From,
            "left" | "right" | "full" | "inner" | "outer" | "cross" | "natural"
                if matches!(next, "join" | "outer" | "inner" | "left" | "right") =>
            {
                continue;
            }
            "," if clause == Clause::From => {
                out.push("join".to_owned());
                continue;
            }
            "as" if clause == Clause::Select => {
                place += 1;
                continue;
            }
            "is" if next == "not" => {
                out.extend(["not".to_owned(), "is".to_owned()]);
                place += 1;
                continue;
            }
            "in" => {
                // One literal stands for a list of them, since values do not count.
                out.push("in".to_owned());
                let list = &tokens[place..];
                if next == "(" && list.get(1).is_some_and(|token| is_literal(token)) {
                    let length = list[1..]
                        .chunks(2)
                        .take_while(|pair| is_literal(&pair[0]) && pair.len() == 2 && pair[1] == ",")
                        .count();
                    if length > 0 && list.get(1 + 2 * length).is_some_and(|token| is_literal(token)) {
                        around.push(clause);
                        out.push("(".to_owned());
                        place += 1 + 2 * length;
                    }
                }
                continue;
            }
            "null" => {
                out.push("\"null\"".to_owned());
                continue;
            }
            name if clause == Clause::From && is_name(name) && out.last().is_some_and(|last| is_name(last)) => {
                let before = out.len().checked_sub(2).map_or("", |before| out[before].as_str());
                if before != "as" {
                    out.push("as".to_owned());
                }
            }
            _ => {}
        }
        out.push(token.clone());
    }
    // A semicolon at the end says nothing.
    while out.last().is_some_and(|last| last == ";") {
        out.pop();
    }
    out
}

fn is_literal(token: &str) -> bool {
    token.starts_with('"') || token == "null" || number(token).is_some()
}

/// True where a token of FROM can be a table or an alias.
fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !matches!(
            token,
            "from"
                | "join"
                | "on"
                | "as"
                | "using"
                | "where"
                | "group"
                | "having"
                | "order"
                | "limit"
                | "union"
                | "intersect"
                | "except"
                | "select"
                | "left"
                | "right"
                | "full"
                | "inner"
                | "outer"
                | "cross"
                | "natural"
        )
}
