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
pub(super) fn words(sentence: &[char], out: &mut Vec<String>) {
    let stop = final_stop(sentence);
    let mut writer = Writer { word: String::new(), out };
    // Whether a comma or colon before took this character with it.
    let mut taken = false;
    let mut place = 0;
    while let Some(&c) = sentence.get(place) {
        let was_taken = std::mem::take(&mut taken);
        let rest = &sentence[place + 1..];
        let run = || 1 + rest.iter().take_while(|&&next| next == c).count();
        let mut length = 1;
        match c {
            ':' | ',' => match rest {
                [next, ..] if !was_taken && !is_digit(*next) => {
                    taken = true;
                    writer.alone(&[c]);
                }
                [] | ['\n'] => writer.alone(&[c]),
                _ => writer.word.push(c),
            },
            '.' if stop == Some(place) => writer.alone(&[c]),
            '.' if rest.first() == Some(&'.') => {
                length = run();
                writer.alone(&sentence[place..place + length]);
            }
            '-' if rest.first() == Some(&'-') => {
                length = 2;
                writer.alone(&['-', '-']);
            }
            '`' => {
                length = run();
                sentence[place..place + length].chunks(2).for_each(|pair| writer.alone(pair));
            }
            ';' | '@' | '#' | '$' | '%' | '&' | '?' | '!' | '*' => writer.alone(&[c]),
            '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' => writer.alone(&[c]),
            '«' | '“' | '‘' | '„' | '»' | '”' | '’' | '\u{2012}'..='\u{2015}' => writer.alone(&[c]),
            _ if is_space(c) => writer.end(),
            _ => writer.word.push(c),
        }
        place += length;
    }
    writer.end();
}

/// The single dot that ends the sentence, but for closing brackets and quotes.
fn final_stop(sentence: &[char]) -> Option<usize> {
    let closing = |c: &char| matches!(c, ']' | ')' | '}' | '>' | ' ' | '»' | '”' | '’');
    let end = sentence.iter().rposition(|&c| !is_space(c))? + 1;
    let place = sentence[..end].iter().rposition(|c| !closing(c))?;
    (sentence[place] == '.' && place > 0 && sentence[place - 1] != '.').then_some(place)
}

/// Words that are cut in two, whatever their case.
const CONTRACTIONS: [(&str, &str); 6] =
    [("can", "not"), ("gim", "me"), ("gon", "na"), ("got", "ta"), ("lem", "me"), ("wan", "na")];

struct Writer<'a> {
    word: String,
    out: &'a mut Vec<String>,
}

impl Writer<'_> {
    fn alone(&mut self, word: &[char]) {
        self.end();
        self.out.push(word.iter().collect());
    }

    /// Ends the word that is under way, and cuts the contractions in it: `t1.cannot` has one after the dot.
    fn end(&mut self) {
        let word = std::mem::take(&mut self.word);
        let mut start = 0;
        let mut place = 0;
        while place < word.len() {
            let rest = &word[place..];
            let run = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            if let Some(first) = contraction(&rest[..run], run == rest.len()) {
                self.push(&word[start..place]);
                self.push(&rest[..first]);
                self.push(&rest[first..run]);
                start = place + run;
            }
            place += run;
            place += word[place..].find(is_word).unwrap_or(word.len() - place);
        }
        self.push(&word[start..]);
    }

    fn push(&mut self, word: &str) {
        if !word.is_empty() {
            self.out.push(word.to_lowercase());
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where to cut a contraction, in bytes; `wanna` is one only at the end of a word.
fn contraction(run: &str, ends: bool) -> Option<usize> {
    if !(5..=16).contains(&run.len()) {
        return None;
    }
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
        super::words(&sentence.chars().collect::<Vec<_>>(), &mut words);
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
