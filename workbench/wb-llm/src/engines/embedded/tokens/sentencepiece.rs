//! SentencePiece as Llama uses it: neighbors that make a token are joined, the best-scored first.

use std::cmp::Ordering;

use super::{
    join::join,
    vocabulary::{TokenKind, Vocabulary},
};

/// Character that a space is written as.
const SPACE: char = '\u{2581}';

/// Score by which a token is preferred.
struct Score(f32);

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        // Adding zero makes one of the two zeros of floating point.
        (self.0 + 0.0).total_cmp(&(other.0 + 0.0))
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Score {}

/// The tokens of a text without control tokens, one after the other into `out`; `bytes` are the tokens of single bytes.
pub fn encode(vocabulary: &Vocabulary, bytes: &[Option<u32>; 256], text: &str, out: &mut Vec<u32>) {
    let text: String = text.chars().map(|c| if c == ' ' { SPACE } else { c }).collect();
    let mut whole = String::new();
    let pieces = join(&text, |left, right| {
        whole.clear();
        whole.push_str(left);
        whole.push_str(right);
        let id = vocabulary.mergeable(&whole)?;
        Some(Score(vocabulary.scores.get(id as usize).copied().unwrap_or(0.0)))
    });
    for piece in pieces {
        match vocabulary.mergeable(piece) {
            Some(id) => out.push(id),
            None => out.extend(piece.bytes().filter_map(|b| bytes[b as usize].or(vocabulary.unknown))),
        }
    }
}

/// The tokens of single bytes: `<0x00>` to `<0xFF>`, or the byte's own character.
pub fn bytes(vocabulary: &Vocabulary) -> [Option<u32>; 256] {
    std::array::from_fn(|b| {
        let own = u8::try_from(b).ok().filter(u8::is_ascii).map(|b| char::from(b).to_string());
        vocabulary.ids.get(&format!("<0x{b:02X}>")).or_else(|| vocabulary.ids.get(&own?)).copied()
    })
}

/// The bytes that a token stands for.
pub fn decode(vocabulary: &Vocabulary, id: u32) -> Vec<u8> {
    let text = vocabulary.text(id);
    match vocabulary.kind(id) {
        TokenKind::Byte => text.get(3..5).and_then(|hex| u8::from_str_radix(hex, 16).ok()).into_iter().collect(),
        TokenKind::UserDefined => text.as_bytes().to_vec(),
        _ => text.replace(SPACE, " ").into_bytes(),
    }
}
