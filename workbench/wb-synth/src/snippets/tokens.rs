//! Rules that count tokens: the plain `words_and_marks`, or a tokenizer that the caller has.

use std::ops::Range;

/// A rule by which texts have tokens.
pub trait TokenRule: Sync {
    /// The rule's name, for accounts.
    fn name(&self) -> &str;

    /// The byte ranges of the tokens in order. White space belongs to none of them, or to any.
    fn spans(&self, text: &str) -> Vec<Range<usize>>;

    /// Number of tokens.
    fn count(&self, text: &str) -> usize {
        self.spans(text).len()
    }
}

/// The rule `words_and_marks`: a run of letters, digits and underscores in pieces of at most 16 characters, or any
/// other single character that is not white space.
///
/// It needs no model, is the same everywhere, and comes near to byte-pair tokenizers on code. The pieces have a length
/// so that a line of a hundred megabytes without a space is not one token.
#[derive(Debug, Clone, Copy, Default)]
pub struct WordsAndMarks;

const PIECE: usize = 16;

impl TokenRule for WordsAndMarks {
    fn name(&self) -> &str {
        "words_and_marks"
    }

    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        each(text, |span| spans.push(span));
        spans
    }

    fn count(&self, text: &str) -> usize {
        let mut count = 0;
        each(text, |_| count += 1);
        count
    }
}

fn each(text: &str, mut take: impl FnMut(Range<usize>)) {
    let mut word: Option<(usize, usize)> = None;
    for (at, c) in text.char_indices() {
        let is_word = c.is_alphanumeric() || c == '_';
        match word {
            Some((start, chars)) if is_word && chars < PIECE => word = Some((start, chars + 1)),
            _ => {
                if let Some((start, _)) = word.take() {
                    take(start..at);
                }
                if is_word {
                    word = Some((at, 1));
                } else if !c.is_whitespace() {
                    take(at..at + c.len_utf8());
                }
            }
        }
    }
    if let Some((start, _)) = word {
        take(start..text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_pieces_and_marks() {
        let tokens = |text: &str| -> Vec<String> {
            let spans = WordsAndMarks.spans(text);
            assert_eq!(WordsAndMarks.count(text), spans.len());
            spans.into_iter().map(|span| text[span].to_owned()).collect()
        };
        assert_eq!(
            tokens("def f_1(größe):\n\treturn x+=1"),
            ["def", "f_1", "(", "größe", ")", ":", "return", "x", "+", "=", "1"]
        );
        assert_eq!(tokens(&"a".repeat(40)), ["a".repeat(16), "a".repeat(16), "a".repeat(8)]);
        assert!(tokens(" \n\u{a0}").is_empty() && tokens("").is_empty());
    }
}
