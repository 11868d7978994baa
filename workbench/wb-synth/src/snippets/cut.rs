//! Long texts to pieces of so many tokens that share some with the piece before.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tokens::TokenRule;

/// Length and overlap of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CutConfig {
    /// Tokens of a piece at most.
    pub max_tokens: usize,
    /// Tokens that a piece shares with the one before; at most half of `max_tokens`.
    pub overlap: usize,
}

impl Default for CutConfig {
    fn default() -> Self {
        Self { max_tokens: 512, overlap: 50 }
    }
}

impl CutConfig {
    /// Refuses pieces without tokens, and pieces that are mostly the one before.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.max_tokens < 8 {
            let message = format!("got {}, expected 8 or more", self.max_tokens);
            return Err(wb_core::Error::value(format!("{key}.max_tokens"), message));
        }
        if self.overlap > self.max_tokens / 2 {
            let message = format!("got {}, expected at most half of max_tokens {}", self.overlap, self.max_tokens);
            return Err(wb_core::Error::value(format!("{key}.overlap"), message));
        }
        Ok(())
    }
}

/// Byte ranges of a text's pieces in order; one for a text that is short enough, none for a text without tokens.
///
/// A piece ends at the last blank line of its second half, else at the last line end there, else at the last white
/// space, else at a token; the next one begins `overlap` tokens before that end, at the beginning of its line where
/// nothing but white space stands before it.
pub fn cut(text: &str, tokens: &dyn TokenRule, config: CutConfig) -> Vec<Range<usize>> {
    let spans = tokens.spans(text);
    let max = config.max_tokens.max(1);
    let overlap = config.overlap.min(max / 2);
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < spans.len() {
        let end = match start + max {
            end if end >= spans.len() => spans.len(),
            end => (start + max / 2 + 1..=end).max_by_key(|at| (gap(text, &spans, *at), *at)).unwrap_or(end),
        };
        let from = text.floor_char_boundary(spans[start].start);
        let to = text.ceil_char_boundary(spans[end - 1].end.max(from));
        let line = text[..from].rfind('\n').map_or(0, |newline| newline + 1);
        let from = if text[line..from].trim().is_empty() { line } else { from };
        pieces.push(from..to);
        if end == spans.len() {
            break;
        }
        start = end - overlap;
    }
    pieces
}

/// The worth of a cut before a token: 3 at a blank line, 2 at a line end, 1 at white space, else 0. White space counts
/// whether it stands between tokens or, as tokenizers have it, in one of them.
fn gap(text: &str, spans: &[Range<usize>], at: usize) -> u8 {
    let start = text.floor_char_boundary(spans[at].start);
    let (before, after) = text.split_at(start);
    let above = &before[before.trim_end().len()..];
    let below = &after[..after.len() - after.trim_start().len()];
    match above.bytes().chain(below.bytes()).filter(|byte| *byte == b'\n').count() {
        0 => u8::from(!above.is_empty() || !below.is_empty()),
        1 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::WordsAndMarks, *};

    fn pieces(text: &str, max_tokens: usize, overlap: usize) -> Vec<&str> {
        cut(text, &WordsAndMarks, CutConfig { max_tokens, overlap }).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn pieces_share_so_many_tokens() {
        let words: Vec<String> = (0..20).map(|i| format!("w{i}")).collect();
        let text = words.join(" ");
        assert_eq!(
            pieces(&text, 8, 2),
            ["w0 w1 w2 w3 w4 w5 w6 w7", "w6 w7 w8 w9 w10 w11 w12 w13", "w12 w13 w14 w15 w16 w17 w18 w19"]
        );
        assert_eq!(pieces(&text, 20, 10), [text.as_str()]);
        assert_eq!(pieces("", 8, 2), [""; 0]);
        assert_eq!(pieces(" \n ", 8, 2), [""; 0]);
    }

    #[test]
    fn the_numbers_of_the_recipe() {
        // 1,000 words: 0..512, 462..974, 924..1000.
        let text = (0..1000).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
        let cut: Vec<(String, usize)> = cut(&text, &WordsAndMarks, CutConfig::default())
            .into_iter()
            .map(|range| {
                let piece = &text[range];
                (piece.split(' ').next().unwrap().to_owned(), piece.split(' ').count())
            })
            .collect();
        assert_eq!(cut, [("w0".into(), 512), ("w462".into(), 512), ("w924".into(), 76)]);
    }

    #[test]
    fn pieces_end_where_the_text_has_a_break() {
        assert_eq!(pieces("a b c d e\n\nf g h i", 8, 0), ["a b c d e", "f g h i"]);
        assert_eq!(pieces("a b c d e\nf g h i", 8, 0), ["a b c d e", "f g h i"]);
        assert_eq!(pieces("aaa(b)(c)(d) e", 8, 0), ["aaa(b)(c)(", "d) e"]);
        // Code keeps the indentation of the line that a piece begins with.
        assert_eq!(pieces("def f():\n    aa = 1\n    bb = 2\n", 8, 0), ["def f():\n    aa = 1", "    bb = 2"]);
    }

    /// Tokens as byte-level tokenizers cut them: a word with the space before it, line ends by themselves.
    struct WithSpaces;

    impl TokenRule for WithSpaces {
        fn name(&self) -> &str {
            "with_spaces"
        }

        fn spans(&self, text: &str) -> Vec<Range<usize>> {
            let begins = |at: &usize| matches!(text.as_bytes()[*at], b' ' | b'\n') || text[..*at].ends_with('\n');
            let starts: Vec<usize> = [0].into_iter().chain((1..text.len()).filter(begins)).collect();
            let ends = starts.iter().skip(1).copied().chain([text.len()]);
            starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
        }
    }

    #[test]
    fn tokenizers_that_keep_white_space_cut_at_the_same_places() {
        let text = "a b c d e\n\nf g h i";
        let config = CutConfig { max_tokens: 8, overlap: 0 };
        let pieces: Vec<&str> = cut(text, &WithSpaces, config).into_iter().map(|range| &text[range]).collect();
        assert_eq!(pieces, ["a b c d e\n\n", "f g h i"]);
    }

    #[test]
    fn every_token_is_in_some_piece_and_no_piece_is_too_long() {
        let text: String =
            (0..3000_u32).map(|i| ["x", " ", "\n", "(", "größe ", "\n\n"][(i * i % 7 % 6) as usize]).collect();
        for (max_tokens, overlap) in [(8, 0), (8, 4), (50, 25), (512, 50)] {
            let pieces = cut(&text, &WordsAndMarks, CutConfig { max_tokens, overlap });
            let mut covered = 0;
            for piece in &pieces {
                assert!(WordsAndMarks.count(&text[piece.clone()]) <= max_tokens);
                assert!(text.get(covered..piece.start).is_none_or(|gap| gap.trim().is_empty()));
                covered = piece.end;
            }
            assert!(text[covered..].trim().is_empty());
        }
    }
}
