//! The tokens of a query, as the published parser makes them out of its text.
//!
//! 1. `'` becomes `"`; what stands between two quotes is one token, with its quotes and its case. An odd number of
//!    quotes is an error. `''` within a string ends it.
//! 2. The rest is cut by NLTK into sentences and words, in lower case. A string that touches other text without
//!    brackets between is lost: `name="x"` is one word, which no grammar knows.
//! 3. `!`, `>`, `<` before `=` are joined with it.

use std::collections::HashMap;

use super::{ParseError, lexer, sentences::sentences, words::words};
use crate::Compat;

/// The tokens of `sql`, in lower case but for strings.
pub fn tokenize(sql: &str, compat: Compat) -> Result<Vec<String>, ParseError> {
    match compat {
        Compat::Official => official(sql),
        Compat::Strict => lexer::tokenize(sql),
    }
}

fn official(sql: &str) -> Result<Vec<String>, ParseError> {
    let (text, strings) = without_strings(sql)?;
    let mut tokens = Vec::new();
    for range in sentences(&text) {
        words(&text[range], &mut tokens);
    }
    if !strings.is_empty() {
        for token in &mut tokens {
            if let Some(string) = strings.get(token.as_str()) {
                token.clone_from(string);
            }
        }
    }
    join_comparisons(&mut tokens);
    Ok(tokens)
}

/// The text with a key in place of every string, and the strings by their keys.
fn without_strings(sql: &str) -> Result<(Vec<char>, HashMap<String, String>), ParseError> {
    let mut text: Vec<char> = Vec::with_capacity(sql.len());
    let mut strings = HashMap::new();
    let mut quotes = 0;
    let mut open: Option<(usize, String)> = None;
    for (place, c) in sql.chars().enumerate() {
        let quote = matches!(c, '\'' | '"');
        quotes += usize::from(quote);
        match &mut open {
            None if quote => open = Some((place, String::from('"'))),
            None => text.push(c),
            Some((start, string)) => {
                string.push(if quote { '"' } else { c });
                if quote {
                    let key = format!("__val_{start}_{place}__");
                    text.extend(key.chars());
                    strings.insert(key, std::mem::take(string));
                    open = None;
                }
            }
        }
    }
    if open.is_some() { Err(ParseError::Quote { count: quotes }) } else { Ok((text, strings)) }
}

/// Joins `!`, `>` and `<` with a `=` behind them.
fn join_comparisons(tokens: &mut Vec<String>) {
    let mut kept = 0;
    for place in 0..tokens.len() {
        if kept > 0 && tokens[place] == "=" && matches!(tokens[kept - 1].as_str(), "!" | ">" | "<") {
            tokens[kept - 1].push('=');
        } else {
            tokens.swap(kept, place);
            kept += 1;
        }
    }
    tokens.truncate(kept);
}
