//! Pairs that come one by one and are worked on together.

use std::borrow::Borrow;

use wb_core::Pair;

/// Collects pairs until there are so many of them, or so many bytes of their text.
pub(crate) struct Chunks<P> {
    most: (usize, usize),
    waiting: Vec<P>,
    bytes: usize,
}

impl<P: Borrow<Pair>> Chunks<P> {
    /// Chunks of at most so many pairs, which end where their texts reach so many bytes.
    pub(crate) fn new(most: (usize, usize)) -> Self {
        Self { most, waiting: Vec::new(), bytes: 0 }
    }

    /// Takes the next pair, and gives the chunk that it fills.
    pub(crate) fn push(&mut self, pair: P) -> Option<Vec<P>> {
        let Pair { anchor, positive, negatives, .. } = pair.borrow();
        self.bytes += anchor.len() + positive.len() + negatives.iter().map(|text| text.len()).sum::<usize>();
        self.waiting.push(pair);
        (self.waiting.len() == self.most.0 || self.bytes >= self.most.1).then(|| self.rest())
    }

    /// Gives the pairs that no chunk has had.
    pub(crate) fn rest(&mut self) -> Vec<P> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
    }
}
