//! The first gates, which need not see all pairs at once: quality, exact duplicates, equal anchors.

use rayon::prelude::*;
use wb_core::{Pair, records::data::Gate};

use crate::{
    dedupe::{DedupeConfig, ExactDuplicates},
    filter::FilterConfig,
    gate::Account,
    text::folded_hash,
};

/// The filter and the search for exact duplicates, for pairs that come in chunks of any size.
pub(crate) struct Cleaning<'a> {
    filter: &'a FilterConfig,
    account: Account,
    duplicates: ExactDuplicates,
}

impl<'a> Cleaning<'a> {
    pub(crate) fn new(filter: &'a FilterConfig, dedupe: &DedupeConfig) -> Self {
        Self { filter, account: Account::default(), duplicates: ExactDuplicates::new(dedupe) }
    }

    /// Gives the pairs that pass, in order. The costly part of it runs in parallel.
    pub(crate) fn pass(&mut self, pairs: Vec<Pair>) -> Vec<Pair> {
        let filter = self.filter;
        let looked_at: Vec<Result<[u128; 2], &'static str>> = pairs
            .par_iter()
            .map(|pair| match filter.reason(pair) {
                Some(reason) => Err(reason),
                None => Ok(keys(pair)),
            })
            .collect();
        let mut kept = Vec::with_capacity(pairs.len());
        for (pair, looked_at) in pairs.into_iter().zip(looked_at) {
            match looked_at {
                Err(reason) => self.account.drop_pair(reason, &pair),
                Ok([anchor, positive]) => {
                    self.account.keep();
                    if self.duplicates.keeps(&pair, anchor, positive) {
                        kept.push(pair);
                    }
                }
            }
        }
        kept
    }

    /// Counts a pair that was filtered elsewhere, and dropped.
    pub(crate) fn count_dropped(&mut self, reason: &str, pair: &Pair) {
        self.account.drop_pair(reason, pair);
    }

    /// Gives of pairs that have passed the filter elsewhere those that repeat none before; the places of others are empty.
    pub(crate) fn pass_filtered(&mut self, pairs: Vec<Pair>) -> Vec<Option<Pair>> {
        let keys: Vec<[u128; 2]> = pairs.par_iter().map(keys).collect();
        let passed = pairs.into_iter().zip(keys).map(|(pair, [anchor, positive])| {
            self.account.keep();
            self.duplicates.keeps(&pair, anchor, positive).then_some(pair)
        });
        passed.collect()
    }

    /// The accounts in the order of the gates.
    pub(crate) fn finish(self) -> Vec<Gate> {
        let mut gates = vec![self.account.finish("filter")];
        gates.extend(self.duplicates.finish());
        gates
    }
}

/// Hashes of the anchor and of the document, white space folded.
fn keys(pair: &Pair) -> [u128; 2] {
    [folded_hash(&pair.anchor), folded_hash(pair.document())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dedupe::{Exact, SameAnchor},
        filter::tests::open_filter,
    };

    fn pair(id: &str, anchor: &str, positive: &str) -> Pair {
        Pair { id: id.into(), anchor: anchor.into(), positive: positive.into(), ..Pair::default() }
    }

    fn clean(pairs: Vec<Pair>, filter: &FilterConfig, dedupe: &DedupeConfig) -> (Vec<String>, Vec<Gate>) {
        let mut cleaning = Cleaning::new(filter, dedupe);
        let kept = cleaning.pass(pairs).into_iter().map(|pair| pair.id).collect();
        (kept, cleaning.finish())
    }

    #[test]
    fn dropped_pairs_are_counted_with_three_examples() {
        let long = "let x = 1; ".repeat(20);
        let pairs = (0..10).map(|at| pair(&format!("p{at}"), "short", &long)).collect();
        let (kept, gates) = clean(pairs, &FilterConfig::default(), &DedupeConfig::default());
        assert!(kept.is_empty());
        let gate = &gates[0];
        assert_eq!((gate.before, gate.after), (10, 0));
        assert_eq!(gate.dropped.get("anchor too short"), Some(&10));
        let ids: Vec<&str> = gate.examples.iter().map(|example| example.id.as_str()).collect();
        assert_eq!(ids, ["p0", "p1", "p2"]);
    }

    #[test]
    fn exact_duplicates_fold_white_space_and_keep_the_first() {
        let pairs = || {
            vec![
                pair("a", "x", "f( a )\n"),
                pair("b", "y", "f( a\t)"),
                pair("c", "x  ", "g"),
                pair("d", " x", "f( a )"),
            ]
        };
        let only = |exact, same_anchor| clean(pairs(), &open_filter(), &DedupeConfig { exact, same_anchor, near: 0.0 });
        assert_eq!(only(Exact::Positive, SameAnchor::Keep).0, ["a", "c"]);
        assert_eq!(only(Exact::Pair, SameAnchor::Keep).0, ["a", "b", "c"]);
        assert_eq!(only(Exact::Off, SameAnchor::KeepFirst).0, ["a", "b"]);
        let (kept, gates) = only(Exact::Positive, SameAnchor::KeepFirst);
        assert_eq!(kept, ["a"]);
        assert_eq!(
            gates.iter().map(|gate| (gate.name.as_str(), gate.before, gate.after)).collect::<Vec<_>>(),
            [("filter", 4, 4), ("exact duplicates", 4, 2), ("same anchor", 2, 1)]
        );
        assert_eq!(gates[1].dropped.get("same positive (1 clusters)"), Some(&2));
        assert_eq!(only(Exact::Off, SameAnchor::Keep).0, ["a", "b", "c", "d"]);
    }
}
