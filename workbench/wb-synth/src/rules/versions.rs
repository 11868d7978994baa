//! Versions of one piece of code: chains of rewrites that keep its meaning, and near misses that do not.

use std::collections::BTreeMap;

use wb_code::{Language, RewriteKind, Rewritten, rewrite, rewrites::Draw};
use wb_core::Seed;

/// Code after some rewrites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) text: String,
    pub(super) kinds: Vec<RewriteKind>,
    pub(super) notes: Vec<String>,
}

/// Outcomes of single rewrites: by rule, language and outcome.
pub(super) type Tried = BTreeMap<(RewriteKind, Language, String), u64>;

/// Some different rewrites one after the other, in a drawn order, at least half of `chain` where so many apply and at
/// most all of it: one alone often leaves the code nearly as it was. `None` where none of them could do anything.
///
/// What a rule refuses is counted and the next one is tried.
pub(super) fn chained(
    code: &str,
    language: Language,
    kinds: &[RewriteKind],
    chain: usize,
    seed: Seed,
    tried: &mut Tried,
) -> Option<Version> {
    let mut draw = Draw::new(seed, "chain");
    let least = chain.div_ceil(2);
    let length = least + draw.below(chain + 1 - least);
    let mut version = Version { text: code.to_owned(), kinds: Vec::new(), notes: Vec::new() };
    for at in draw.order(kinds.len()) {
        let Some(kind) = kinds.get(at).copied().filter(|_| version.kinds.len() < length) else { break };
        if let Some(new) = apply(&version.text, language, kind, seed, tried) {
            version.text = new.text;
            version.kinds.push(kind);
            version.notes.push(new.note);
        }
    }
    (!version.kinds.is_empty() && version.text != code).then_some(version)
}

/// The outcome of an application, in counts.
pub(crate) const APPLIED: &str = "applied";

/// The version of a code by a rule, where it has one; the outcome is counted.
fn apply(code: &str, language: Language, kind: RewriteKind, seed: Seed, tried: &mut Tried) -> Option<Rewritten> {
    let result = rewrite(code, language, kind, seed);
    let outcome = result.as_ref().map_or_else(ToString::to_string, |_| APPLIED.to_owned());
    *tried.entry((kind, language, outcome)).or_default() += 1;
    result.ok()
}

/// Near misses of a piece of code, each by one perturbation, all different, at most `count`.
pub(super) fn near_misses(
    code: &str,
    language: Language,
    kinds: &[RewriteKind],
    count: usize,
    seed: Seed,
    tried: &mut Tried,
) -> Vec<Version> {
    let mut misses: Vec<Version> = Vec::new();
    let order = seed.permutation_at("near misses", 0, kinds.len());
    // A rule may be asked again for another place once all have been asked.
    for (round, at) in (0..2).flat_map(|round| order.iter().map(move |at| (round, *at))) {
        let Some(kind) = kinds.get(at).copied().filter(|_| misses.len() < count) else { break };
        if let Some(new) = apply(code, language, kind, Seed(seed.number_at("near miss", round)), tried)
            && misses.iter().all(|miss| miss.text != new.text)
        {
            misses.push(Version { text: new.text, kinds: vec![kind], notes: vec![new.note] });
        }
    }
    misses
}
