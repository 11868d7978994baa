//! Drawing for one rewrite: a counter over a named stream, so that the same seed gives the same text anywhere.

use wb_core::Seed;

/// Numbers drawn one after the other from one purpose of a seed.
#[derive(Debug, Clone)]
pub struct Draw {
    seed: Seed,
    purpose: String,
    next: u64,
}

impl Draw {
    /// The start of the stream of `purpose`.
    pub fn new(seed: Seed, purpose: impl Into<String>) -> Self {
        Self { seed, purpose: purpose.into(), next: 0 }
    }

    /// A number below `n`; 0 where `n` is 0 or 1.
    pub fn below(&mut self, n: usize) -> usize {
        let number = self.seed.number_at(&self.purpose, self.next);
        self.next += 1;
        // The bias of the remainder is below 2⁻⁴⁰ for every list that is drawn from here.
        if n < 2 { 0 } else { usize::try_from(number % n as u64).unwrap_or(0) }
    }

    /// One of a list; `None` where it is empty.
    pub fn one_of<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        list.get(self.below(list.len()))
    }

    /// The positions `0..n` in a drawn order.
    pub fn order(&mut self, n: usize) -> Vec<usize> {
        let order = self.seed.permutation_at(&self.purpose, self.next, n);
        self.next += 1;
        order
    }
}
