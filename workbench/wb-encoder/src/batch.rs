//! Token ids of several texts, one after the other, without padding.

/// Texts as token ids. Text `i` is `ids[offsets[i]..offsets[i + 1]]`, special tokens included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenBatch {
    ids: Vec<u32>,
    offsets: Vec<usize>,
}

impl TokenBatch {
    /// Takes texts as token ids, in order.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a [u32]>) -> Self {
        let mut batch = Self { ids: Vec::new(), offsets: vec![0] };
        for text in texts {
            batch.ids.extend_from_slice(text);
            batch.offsets.push(batch.ids.len());
        }
        batch
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
