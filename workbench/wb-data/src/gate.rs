//! One gate: pairs go in, some come out, and the others are accounted for.

use std::collections::BTreeMap;

use wb_core::{
    Pair,
    records::data::{DroppedPair, Gate},
};

use crate::text::shorten;

/// Dropped pairs shown for each reason.
pub(crate) const EXAMPLES: usize = 3;

/// The account of a gate, pair by pair.
#[derive(Debug, Default)]
pub(crate) struct Account {
    before: u64,
    kept: u64,
    dropped: BTreeMap<String, u64>,
    examples: Vec<DroppedPair>,
}

impl Account {
    /// A pair that passes.
    pub(crate) fn keep(&mut self) {
        self.before += 1;
        self.kept += 1;
    }

    /// A pair that does not.
    pub(crate) fn drop_pair(&mut self, reason: &str, pair: &Pair) {
        self.before += 1;
        let count = match self.dropped.get_mut(reason) {
            Some(count) => count,
            None => self.dropped.entry(reason.to_owned()).or_default(),
        };
        *count += 1;
        if *count <= EXAMPLES as u64 {
            self.examples.push(DroppedPair {
                reason: reason.to_owned(),
                id: pair.id.clone(),
                anchor: shorten(&pair.anchor, 120),
            });
        }
    }

    /// Pairs that were dropped for a reason, with the first of them.
    pub(crate) fn drop_counted(&mut self, reason: &str, count: u64, first: Vec<DroppedPair>) {
        self.dropped.insert(reason.to_owned(), count);
        self.examples.extend(first.into_iter().take(EXAMPLES));
    }

    /// True where nothing was dropped.
    pub(crate) fn is_clean(&self) -> bool {
        self.dropped.is_empty()
    }

    /// Names the reason of a gate with one, which is known only at the end.
    #[must_use]
    pub(crate) fn named(mut self, reason: String) -> Self {
        self.dropped = self.dropped.into_values().map(|count| (reason.clone(), count)).collect();
        self.examples.iter_mut().for_each(|example| example.reason.clone_from(&reason));
        self
    }

    /// Sets the number of pairs that came to the gate, where they were not told one by one.
    pub(crate) fn set_before(&mut self, before: u64) {
        self.before = before;
        self.kept = before - self.dropped.values().sum::<u64>();
    }

    /// The account as it stands in the card.
    pub(crate) fn finish(mut self, name: &str) -> Gate {
        self.examples.sort_by(|a, b| a.reason.cmp(&b.reason));
        let Self { before, kept, dropped, examples } = self;
        Gate { name: name.to_owned(), before, after: kept, dropped, examples }
    }
}

/// Drops the pairs that have a reason to be dropped; the order stays.
pub(crate) fn gate(name: &str, pairs: Vec<Pair>, reason: impl Fn(usize, &Pair) -> Option<String>) -> (Vec<Pair>, Gate) {
    let mut account = Account::default();
    let mut kept = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.into_iter().enumerate() {
        match reason(index, &pair) {
            None => {
                account.keep();
                kept.push(pair);
            }
            Some(reason) => account.drop_pair(&reason, &pair),
        }
    }
    (kept, account.finish(name))
}
