//! `--plug-value`: the gold query's values, in every combination, in place of those of a prediction.
//!
//! For models that predict no values. The prediction is torn into words, is lower-cased on the way, and its values are
//! found by rules that miss some and take other words for values; all of that is the test suite's, and success is
//! judged on any of the combinations or on the prediction as it was.

use std::collections::BTreeSet;

use super::{
    lexer::{self, Kind},
    python::is_space,
};

/// The word that stands for a value.
const SLOT: &str = "VALUERARE";

/// The most combinations that are tried; beyond, the rest is not looked at.
pub const MOST_COMBINATIONS: usize = 10_000;

/// The longest text that values are looked for in, in bytes: each is looked for in the whole text, as the test suite
/// does. A query of a person or a model has a few hundred.
const MOST_BYTES: usize = 50_000;

/// The prediction with the gold query's values in its slots, each combination once, in the order of the values. None of
/// a text that is too long.
pub(super) fn combinations(gold: &str, prediction: &str) -> impl Iterator<Item = String> {
    let fits = gold.len().max(prediction.len()) <= MOST_BYTES;
    let (gold, prediction) = if fits { (gold, prediction) } else { ("", "") };
    let values: Vec<String> = torn(gold).1.into_iter().collect();
    let words = torn(prediction).0;
    let slots: Vec<usize> = (0..words.len()).filter(|&at| words[at] == SLOT.to_lowercase()).collect();
    let power = u32::try_from(slots.len()).ok().and_then(|slots| values.len().checked_pow(slots));
    let count = if fits { power.unwrap_or(usize::MAX).min(MOST_COMBINATIONS) } else { 0 };
    (0..count).map(move |number| {
        let mut number = number;
        let mut filled = words.clone();
        for &slot in slots.iter().rev() {
            filled[slot].clone_from(&values[number % values.len()]);
            number /= values.len();
        }
        filled.join(" ")
    })
}

/// A query as lower-cased words with slots for its values, and those values.
fn torn(query: &str) -> (Vec<String>, BTreeSet<String>) {
    let query = query.trim_matches(is_space).replace([';', '\t'], "");
    let words: Vec<&str> = lexer::first_statement(&query)
        .iter()
        .filter(|token| token.kind != Kind::Space)
        .map(|token| token.text)
        .collect();
    let mut query = words.join(" ");
    for star in ["t1.*", "t2.*", "t3.*", "T1.*", "T2.*", "T3.*"] {
        query = query.replace(star, "*");
    }
    let query = joined_aliases(&formatted(&query));
    let mut values = BTreeSet::new();
    let mut slotted = query.clone();
    for token in lexer::first_statement(&query) {
        if matches!(token.kind, Kind::Text | Kind::Quoted) {
            values.insert(token.text.to_owned());
            slotted = slotted.replace(token.text.trim_matches(is_space), SLOT);
        }
    }
    let split =
        |text: &str| text.split(is_space).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let mut words = split(&slotted);
    let decimal = decimals(&slotted);
    take(&mut words, &mut values, &decimal);
    let whole = numbers(&words.join(" "));
    take(&mut words, &mut values, &whole);
    (words.iter().flat_map(|word| lowered(word)).collect(), values)
}

/// Words that are numbers become slots.
fn take(words: &mut [String], values: &mut BTreeSet<String>, numbers: &BTreeSet<String>) {
    for word in words {
        if numbers.contains(word) {
            values.insert(std::mem::replace(word, SLOT.to_owned()));
        }
    }
}

/// Lines without the spaces at their ends; line ends within quotes are left alone, and all are split at later.
fn formatted(query: &str) -> String {
    let mut lines = vec![String::new()];
    for token in lexer::first_statement(query) {
        let breaks = token.kind == Kind::Newline;
        if let Some(line) = lines.last_mut()
            && !breaks
        {
            line.push_str(token.text);
        }
        if breaks {
            lines.push(String::new());
        }
    }
    lines.iter().map(|line| line.trim_end_matches(is_space)).collect::<Vec<_>>().join("\n")
}

/// `T1. a` becomes `T1.a`: one space behind a dot behind `T` and digits.
fn joined_aliases(query: &str) -> String {
    let characters: Vec<char> = query.chars().collect();
    let mut joined = String::with_capacity(query.len());
    let mut at = 0;
    while at < characters.len() {
        if characters[at] == 'T' {
            let mut end = at + 1;
            while characters.get(end).is_some_and(char::is_ascii_digit) {
                end += 1;
            }
            let dotted = end > at + 1 && characters.get(end) == Some(&'.');
            if dotted && characters.get(end + 1).is_some_and(|next| is_space(*next)) {
                joined.extend(&characters[at..=end]);
                at = end + 2;
                continue;
            }
        }
        joined.push(characters[at]);
        at += 1;
    }
    joined
}

/// All matches of `[-+]?\d*\.\d+`.
fn decimals(query: &str) -> BTreeSet<String> {
    let characters: Vec<char> = query.chars().collect();
    let digits = |mut at: usize| {
        while characters.get(at).is_some_and(char::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < characters.len() {
        let begin = if matches!(characters[at], '-' | '+') { at + 1 } else { at };
        let dot = digits(begin);
        let end = if characters.get(dot) == Some(&'.') { digits(dot + 1) } else { dot };
        if end > dot + 1 {
            found.insert(characters[at..end].iter().collect());
            at = end;
        } else {
            at += 1;
        }
    }
    found
}

/// All matches of `[^tT]\d+`, without space around them.
fn numbers(query: &str) -> BTreeSet<String> {
    let characters: Vec<char> = query.chars().collect();
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < characters.len() {
        let mut end = at + 1;
        while characters.get(end).is_some_and(char::is_ascii_digit) {
            end += 1;
        }
        if !matches!(characters[at], 't' | 'T') && end > at + 1 {
            let text: String = characters[at..end].iter().collect();
            found.insert(text.trim_matches(is_space).to_owned());
            at = end;
        } else {
            at += 1;
        }
    }
    found
}

/// A word in small letters; words with an alias in front of a dot are split at their dots.
fn lowered(word: &str) -> Vec<String> {
    let bytes = word.as_bytes();
    let aliased = |at: usize| {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && bytes.get(at + 1 + digits) == Some(&b'.')
    };
    if (0..bytes.len()).any(|at| matches!(bytes[at], b't' | b'T') && aliased(at)) {
        let spaced = word.replace('.', " . ");
        return spaced.split(is_space).filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
    }
    vec![word.to_lowercase()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_gold_query_fill_the_slots() {
        let gold = "SELECT a FROM t WHERE b = 'x' AND c > 5";
        let all: Vec<String> = combinations(gold, "SELECT A FROM T WHERE B = \"q\" AND C > 1.5").collect();
        assert_eq!(
            all,
            [
                "select a from t where b = 'x' and c > 'x'",
                "select a from t where b = 'x' and c > 5",
                "select a from t where b = 5 and c > 'x'",
                "select a from t where b = 5 and c > 5",
            ]
        );
    }

    #[test]
    fn without_slots_the_lowered_prediction_remains_and_without_values_nothing() {
        assert_eq!(combinations("SELECT a FROM t", "SELECT A FROM T").collect::<Vec<_>>(), ["select a from t"]);
        assert_eq!(combinations("SELECT a FROM t", "SELECT A FROM T WHERE b = 1").count(), 0);
        // Minutes, if it were not for the bound.
        let long = format!("SELECT {}", vec!["'a'"; 100_000].join(", "));
        let begin = std::time::Instant::now();
        assert_eq!(combinations("SELECT a FROM t WHERE b = 2", &long).count(), 0);
        assert!(begin.elapsed().as_secs_f64() < 1.0, "{:?}", begin.elapsed());
    }
}
