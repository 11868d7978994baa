//! The tokens of a query, as the published parser makes them out of its text.
//!
//! 1. `'` becomes `"`; what stands between two quotes is one token, with its quotes and its case. An odd number of
//!    quotes is an error. `''` within a string ends it.
//! 2. The rest is cut by NLTK into sentences and words, in lower case. A string that touches other text without
//!    brackets between is lost: `name="x"` is one word, which no grammar knows.
//! 3. `!`, `>`, `<` before `=` are joined with it.

use std::collections::HashMap;

use super::{
    ParseError, lexer,
    sentences::sentences,
    words::{is_space, words},
};
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
    if may_end(&text) {
        let text: Vec<char> = text.chars().collect();
        for range in sentences(&text) {
            words(&text[range].iter().collect::<String>(), &mut tokens);
        }
    } else {
        words(text.trim_end_matches(is_space), &mut tokens);
    }
    if !strings.is_empty() {
        for token in &mut tokens {
            if token.starts_with(KEY)
                && let Some(string) = strings.get(token.as_str())
            {
                token.clone_from(string);
            }
        }
    }
    join_comparisons(&mut tokens);
    Ok(tokens)
}

/// True where a sentence may end within the text: a mark before a space or sign.
fn may_end(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'=');
    text.as_bytes().windows(2).any(|pair| matches!(pair[0], b'.' | b'?' | b'!') && !part(pair[1]))
}

/// Both are the same.
const QUOTES: [char; 2] = ['\'', '"'];

/// Beginning of keys.
const KEY: &str = "__val_";

/// The text with a key in place of every string, and the strings by their keys.
fn without_strings(sql: &str) -> Result<(String, HashMap<String, String>), ParseError> {
    let mut text = String::with_capacity(sql.len());
    let mut strings = HashMap::new();
    let count = sql.matches(QUOTES).count();
    if !count.is_multiple_of(2) {
        return Err(ParseError::Quote { count });
    }
    // Keys are made of the places of their quotes, in characters.
    let mut place = 0;
    for (index, part) in sql.split(QUOTES).enumerate() {
        let end = if count == 0 { 0 } else { place + part.chars().count() };
        if index % 2 == 0 {
            text.push_str(part);
        } else {
            let key = format!("{KEY}{}_{end}__", place - 1);
            text.push_str(&key);
            strings.insert(key, format!("\"{part}\""));
        }
        place = end + 1;
    }
    Ok((text, strings))
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
