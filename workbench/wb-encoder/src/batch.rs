//! Token ids of several texts, one after the other, without padding; the last of a text may be such as no token attends to.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Tokens that are handed to a device at once, and that it computes at once where nothing of them is kept and there is
/// memory enough.
pub const BATCH_TOKENS: usize = 16_384;

/// Texts as token ids. Text `i` is `ids[offsets[i]..offsets[i + 1]]`, special tokens included.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenBatch {
    ids: Vec<u32>,
    offsets: Vec<usize>,
    first_place: u64,
    /// Number of tokens of each text, from its first, that are attended to; empty where all are.
    keys: Vec<usize>,
    /// Type of each token, for models that read two texts together; empty where all are 0.
    types: Vec<u32>,
}

impl TokenBatch {
    /// Takes texts as token ids, in order.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a [u32]>) -> Self {
        let mut batch = Self { ids: Vec::new(), offsets: vec![0], first_place: 0, keys: Vec::new(), types: Vec::new() };
        for text in texts {
            batch.ids.extend_from_slice(text);
            batch.offsets.push(batch.ids.len());
        }
        batch
    }

    /// Some neighbouring texts as a batch of their own. They keep their places in the whole batch,
    /// and with them their dropout masks: embedded in parts, texts meet the same masks as embedded at once.
    #[must_use]
    pub fn part(&self, texts: Range<usize>) -> Self {
        let first_place = self.place(texts.start);
        let keys = if self.keys.is_empty() { Vec::new() } else { self.keys[texts.clone()].to_vec() };
        let tokens = self.offsets[texts.start]..self.offsets[texts.end];
        let types = if self.types.is_empty() { Vec::new() } else { self.types[tokens].to_vec() };
        Self { first_place, keys, types, ..Self::new(texts.map(|text| self.text(text))) }
    }

    /// Limits attention to the first so many tokens of each text: all tokens see those, and the others are
    /// seen by none. At least one token of a text is.
    #[must_use]
    pub fn attending(mut self, keys: impl Fn(usize, &[u32]) -> usize) -> Self {
        let of_text = |(at, text): (usize, &[u32])| keys(at, text).max(1).min(text.len());
        let keys: Vec<usize> = self.texts().enumerate().map(of_text).collect();
        let all = keys.iter().zip(self.texts()).all(|(keys, text)| *keys == text.len());
        self.keys = if all { Vec::new() } else { keys };
        self
    }

    /// Gives each token its type, one after the other as the ids are.
    pub(crate) fn with_types(mut self, types: Vec<u32>) -> Self {
        assert_eq!(types.len(), self.ids.len());
        self.types = types;
        self
    }

    /// Type of each token; empty where all are 0.
    pub(crate) fn types(&self) -> &[u32] {
        &self.types
    }

    /// Type of each token of a text; empty where all are 0.
    #[cfg(feature = "burn")]
    pub(crate) fn types_of(&self, text: usize) -> &[u32] {
        if self.types.is_empty() { &[] } else { &self.types[self.offsets[text]..self.offsets[text + 1]] }
    }

    /// Number of tokens of a text, from the first, that are attended to.
    pub fn keys(&self, text: usize) -> usize {
        self.keys.get(text).copied().unwrap_or_else(|| self.offsets[text + 1] - self.offsets[text])
    }

    /// A text's place in the whole batch that this is a part of, which with a seed decides its dropout masks.
    pub fn place(&self, text: usize) -> u64 {
        self.first_place + text as u64
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// True where there are no texts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Token ids of all texts, one after the other.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Beginnings of the texts in the ids, and the end: `[texts + 1]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Token ids of one text.
    pub fn text(&self, index: usize) -> &[u32] {
        &self.ids[self.offsets[index]..self.offsets[index + 1]]
    }

    /// All texts in order.
    pub fn texts(&self) -> impl Iterator<Item = &[u32]> {
        self.offsets.windows(2).map(|ends| &self.ids[ends[0]..ends[1]])
    }

    /// The longest text, in tokens.
    pub fn longest(&self) -> usize {
        self.offsets.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
    }

    /// Texts of so many tokens each, all of them the same.
    #[cfg(test)]
    pub(crate) fn of_lengths(lengths: &[usize]) -> Self {
        let texts: Vec<Vec<u32>> = lengths.iter().map(|length| vec![1; *length]).collect();
        Self::new(texts.iter().map(Vec::as_slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_parts_keep_their_places() {
        let texts: [&[u32]; 5] = [&[1, 2], &[], &[3], &[4, 5, 6], &[7]];
        let whole = TokenBatch::new(texts);
        let part = whole.part(1..5).part(2..4);
        assert_eq!(part.texts().collect::<Vec<_>>(), [&[4, 5, 6][..], &[7]]);
        assert_eq!((part.offsets(), part.place(0), part.place(1)), (&[0, 3, 4][..], 3, 4));
        assert_eq!(whole.part(0..5), whole);
        assert!(whole.part(5..5).is_empty());
    }

    #[test]
    fn parts_keep_what_is_attended_to() {
        let texts: [&[u32]; 5] = [&[1, 2], &[], &[3, 9, 9], &[4, 5, 9], &[9]];
        let whole = TokenBatch::new(texts);
        let masked = whole.clone().attending(|_, text| text.iter().take_while(|id| **id != 9).count());
        let keys = |batch: &TokenBatch| (0..batch.len()).map(|text| batch.keys(text)).collect::<Vec<_>>();
        assert_eq!(keys(&whole), [2, 0, 3, 3, 1]);
        // A text whose tokens are all unseen keeps its first.
        assert_eq!(keys(&masked), [2, 0, 1, 2, 1]);
        assert_eq!(keys(&masked.part(1..5).part(1..3)), [1, 2]);
        assert_eq!(whole.clone().attending(|_, text| text.len()), whole);
    }
}
