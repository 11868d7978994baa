//! Byte-pair encoding as GPT-2 began it: words of bytes, in which the pair that was learned first is joined first.

use std::{cmp::Reverse, collections::HashMap};

use super::{
    join::join,
    split::Pretokenizer,
    vocabulary::{TokenKind, Vocabulary},
};

/// An encoder by pairs: the pairs with their ranks, and the way a text falls into words.
#[derive(Debug)]
pub struct Bpe {
    /// Ranks of pairs by `left right`, as the file spells them.
    ranks: HashMap<String, u32>,
    split: Pretokenizer,
    letters: [char; 256],
    bytes: HashMap<char, u8>,
}

impl Bpe {
    /// From the merges of a file (`left right` each, the first learned first).
    pub fn new(merges: &[String], split: Pretokenizer) -> Result<Self, String> {
        let mut ranks = HashMap::with_capacity(merges.len());
        for (rank, merge) in merges.iter().enumerate() {
            if merge.split(' ').count() != 2 {
                return Err(format!(
                    "tokenizer.ggml.merges has {merge:?} at place {rank}, two pieces with a space between were expected"
                ));
            }
            ranks.entry(merge.clone()).or_insert(rank as u32);
        }
        let letters = letters();
        let bytes = letters.iter().enumerate().map(|(b, c)| (*c, b as u8)).collect();
        Ok(Self { ranks, split, letters, bytes })
    }

    /// The tokens of a text without control tokens, one after the other into `out`.
    pub fn encode(&self, vocabulary: &Vocabulary, text: &str, out: &mut Vec<u32>) {
        for word in self.split.words(text) {
            let spelled: String = word.bytes().map(|b| self.letters[b as usize]).collect();
            if self.split.whole_words
                && let Some(id) = vocabulary.mergeable(&spelled)
            {
                out.push(id);
                continue;
            }
            let mut pair = String::new();
            let pieces = join(&spelled, |left, right| {
                pair.clear();
                pair.extend([left, " ", right]);
                self.ranks.get(&pair).copied().map(Reverse)
            });
            for piece in pieces {
                match vocabulary.mergeable(piece) {
                    Some(id) => out.push(id),
                    None => out.extend(piece.chars().filter_map(|c| vocabulary.mergeable(c.encode_utf8(&mut [0; 4])))),
                }
            }
        }
    }

    /// The bytes that a token stands for.
    pub fn decode(&self, vocabulary: &Vocabulary, id: u32) -> Vec<u8> {
        let text = vocabulary.text(id);
        if vocabulary.kind(id) != TokenKind::Normal {
            return text.as_bytes().to_vec();
        }
        let mut out = Vec::with_capacity(text.len());
        for c in text.chars() {
            match self.bytes.get(&c) {
                Some(byte) => out.push(*byte),
                None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out
    }
}

/// The spelling of bytes: printable ones as themselves, the others from U+0100 on (GPT-2's `bytes_to_unicode`).
fn letters() -> [char; 256] {
    let mut next = 0x100;
    std::array::from_fn(|b| {
        let own = matches!(b as u8, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let code = if own {
            b as u32
        } else {
            next += 1;
            next - 1
        };
        char::from_u32(code).unwrap_or('\u{FFFD}')
    })
}
