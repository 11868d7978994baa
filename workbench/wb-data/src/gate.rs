//! One gate: pairs go in, some come out, and the others are accounted for.

use std::collections::BTreeMap;

use wb_core::{
    Pair,
    records::data::{DroppedPair, Gate},
};

use crate::text::shorten;

/// Dropped pairs shown for each reason.
const EXAMPLES: usize = 3;

/// Drops the pairs that have a reason to be dropped; the order stays.
pub(crate) fn gate(name: &str, pairs: Vec<Pair>, reason: impl Fn(usize, &Pair) -> Option<String>) -> (Vec<Pair>, Gate) {
    let before = pairs.len() as u64;
    let mut dropped: BTreeMap<String, u64> = BTreeMap::new();
    let mut examples = Vec::new();
    let mut kept = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.into_iter().enumerate() {
        let Some(reason) = reason(index, &pair) else {
            kept.push(pair);
            continue;
        };
        let count = dropped.entry(reason.clone()).or_default();
        *count += 1;
        if *count <= EXAMPLES as u64 {
            examples.push(DroppedPair { reason, id: pair.id, anchor: shorten(&pair.anchor, 120) });
        }
    }
    examples.sort_by(|a, b| a.reason.cmp(&b.reason));
    let gate = Gate { name: name.to_owned(), before, after: kept.len() as u64, dropped, examples };
    (kept, gate)
}
