//! The words of a sentence, as NLTK's tokenizer for English cuts them.
//!
//! `NLTKWordTokenizer` (nltk 3.10) runs some twenty substitutions over a sentence and splits it at white space. Here
//! the same words come out of one pass. The substitutions around `'` and `"` have no counterpart: the published parser
//! takes all quotes out before. For SQL this matters of the rest:
//!
//! * `( ) [ ] { } < > * ; ! ? @ # $ % &`, curly and angular quotes and dashes are words of their own, `=` is not:
//!   `a >=5` is `a`, `>`, `=5`, and `a!=b` is `a`, `!`, `=b`;
//! * `,` and `:` are words of their own unless a digit follows (`a,5` is one word) or one of them comes right before
//!   (`a,,b` is `a`, `,`, `,b`);
//! * dots stay in their words, except for a single one at the end of the sentence, and runs of two and more;
//! * `--` is a word, runs of backticks are cut in pairs;
//! * `cannot`, `gimme`, `gonna`, `gotta`, `lemme`, `wanna` are two words.

use super::numbers::is_digit;

/// White space as Python's `str.split` sees it.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Appends the words of one sentence, in lower case.
pub(super) fn words(sentence: &str, out: &mut Vec<String>) {
    let stop = final_stop(sentence);
    // The word that is under way begins here.
    let mut start = 0;
    let mut place = 0;
    // Whether a comma or colon before took this character with it.
    let mut taken = false;
    while let Some(c) = sentence[place..].chars().next() {
        let was_taken = std::mem::take(&mut taken);
        let rest = &sentence[place + c.len_utf8()..];
        let next = rest.chars().next();
        let run = || c.len_utf8() + rest.len() - rest.trim_start_matches(c).len();
        // How much of the text is a word of its own, or white space.
        let length = match c {
            ':' | ',' => {
                taken = !was_taken && next.is_some_and(|next| !is_digit(next));
                usize::from(taken || matches!(rest, "" | "\n"))
            }
            '.' if stop == Some(place) => 1,
            '.' if next == Some('.') => run(),
            '-' if next == Some('-') => 2,
            '`' => run(),
            ';' | '@' | '#' | '$' | '%' | '&' | '?' | '!' | '*' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' => 1,
            '«' | '“' | '‘' | '„' | '»' | '”' | '’' | '\u{2012}'..='\u{2015}' => c.len_utf8(),
            _ if is_space(c) => c.len_utf8(),
            _ => 0,
        };
        if length == 0 {
            place += c.len_utf8();
            continue;
        }
        end(&sentence[start..place], out);
        let sign = &sentence[place..place + length];
        place += length;
        start = place;
        if c == '`' {
            out.extend((0..length).step_by(2).map(|place| sign[place..length.min(place + 2)].to_owned()));
        } else if !is_space(c) {
            out.push(sign.to_owned());
        }
    }
    end(&sentence[start..], out);
}

/// The single dot that ends the sentence, but for closing brackets and quotes.
fn final_stop(sentence: &str) -> Option<usize> {
    let closing = |c| matches!(c, ']' | ')' | '}' | '>' | ' ' | '»' | '”' | '’');
    let before = sentence.trim_end_matches(is_space).trim_end_matches(closing).strip_suffix('.')?;
    (!before.is_empty() && !before.ends_with('.')).then_some(before.len())
}

/// Words that are cut in two, whatever their case.
const CONTRACTIONS: [(&str, &str); 6] =
    [("can", "not"), ("gim", "me"), ("gon", "na"), ("got", "ta"), ("lem", "me"), ("wan", "na")];

/// Appends a word, and cuts the contractions in it: `t1.cannot` has one after the dot.
fn end(word: &str, out: &mut Vec<String>) {
    // All of them have `nn`, `mm` or `tt` in the middle.
    let twice = |pair: &[u8]| pair[0] | 32 == pair[1] | 32 && matches!(pair[0] | 32, b'n' | b'm' | b't');
    if !word.as_bytes().windows(2).any(twice) {
        return push(word, out);
    }
    let mut start = 0;
    let mut place = 0;
    while place < word.len() {
        let rest = &word[place..];
        let run = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if let Some(first) = contraction(&rest[..run], run == rest.len()) {
            push(&word[start..place], out);
            push(&rest[..first], out);
            push(&rest[first..run], out);
            start = place + run;
        }
        place += run;
        place += word[place..].find(is_word).unwrap_or(word.len() - place);
    }
    push(&word[start..], out);
}

fn push(word: &str, out: &mut Vec<String>) {
    if !word.is_empty() {
        // The same for ASCII, and faster.
        out.push(if word.is_ascii() { word.to_ascii_lowercase() } else { word.to_lowercase() });
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Place to cut a contraction at, in bytes; `wanna` is one only at the end of a word.
fn contraction(run: &str, ends: bool) -> Option<usize> {
    // Python takes both Turkish letters for an `i` where case does not count.
    let fold = |c: char| if matches!(c, 'ı' | 'İ') { 'i' } else { c.to_ascii_lowercase() };
    let same = |&&(first, second): &&(&str, &str)| run.chars().map(fold).eq(first.chars().chain(second.chars()));
    let (first, _) = CONTRACTIONS.iter().find(same).filter(|(first, _)| *first != "wan" || ends)?;
    run.char_indices().nth(first.len()).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    fn words(sentence: &str) -> String {
        let mut words = Vec::new();
        super::words(sentence, &mut words);
        words.join("|")
    }

    #[test]
    fn sql_is_cut_as_english_is() {
        for (sentence, expected) in [
            ("SELECT t1.a , count(*) FROM t AS t1", "select|t1.a|,|count|(|*|)|from|t|as|t1"),
            ("a>=5 AND b!=c", "a|>|=5|and|b|!|=c"),
            ("a,b a,5 a,,b a:b c:9 a,", "a|,|b|a,5|a|,|,b|a|:|b|c:9|a|,"),
            ("a,,", "a|,|,"),
            ("a. b.c d.", "a.|b.c|d|."),
            ("x .. y... 3.5", "x|..|y|...|3.5"),
            ("count(t1.) ]", "count|(|t1|.|)|]"),
            ("a--b ---c -5", "a|--|b|--|-c|-5"),
            ("`a` ```b", "`|a|`|``|`|b"),
            ("“a” 10% x#y a&b", "“|a|”|10|%|x|#|y|a|&|b"),
            ("cannot t1.CanNot wanna wanna.b (wanna) gonna_", "can|not|t1.|can|not|wan|na|wanna.b|(|wan|na|)|gonna_"),
            ("a;b\u{a0}c\u{1c}d", "a|;|b|c|d"),
            ("", ""),
            (".", "."),
        ] {
            assert_eq!(words(sentence), expected, "{sentence}");
        }
    }
}
