//! Token ids of several texts, one after the other, without padding.

use std::ops::Range;

/// Texts as token ids. Text `i` is `ids[offsets[i]..offsets[i + 1]]`, special tokens included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenBatch {
    ids: Vec<u32>,
    offsets: Vec<usize>,
    first_place: u64,
}

impl TokenBatch {
    /// Takes texts as token ids, in order.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a [u32]>) -> Self {
        let mut batch = Self { ids: Vec::new(), offsets: vec![0], first_place: 0 };
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
        Self { first_place, ..Self::new(texts.map(|text| self.text(text))) }
    }

    /// A text's place in the whole batch that this is a part of, which with a seed decides its dropout masks.
    pub fn place(&self, text: usize) -> u64 {
        self.first_place + text as u64
    }

    /// How many texts.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Token ids of all texts, one after the other.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Where each text begins, and the end: `[texts + 1]`.
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
}
