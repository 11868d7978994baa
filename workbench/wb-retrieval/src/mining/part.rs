//! Negatives of some of the queries, to be put together with those of the others: a mining that many machines work at.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{CutTies, MinedNegatives, MinedPair, MiningAccount, MiningTexts, Negative, Thrown};

/// Negatives of some queries, with what became of their candidates. Scores are kept to the last bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MinedPart {
    /// Candidates, and those that were left; negatives that were chosen and filled in; pairs that are short or without any.
    counts: [u64; 6],
    thrown: Thrown,
    at_places: CutTies,
    at_taken: CutTies,
    pairs: Vec<PartPair>,
}

/// A pair by its place, with the bits of its scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PartPair(u32, u32, Vec<(u32, Option<u32>, Option<u32>)>);

impl MinedNegatives {
    /// The part of some queries, of a mining that has mined for these alone.
    pub fn into_part(self, texts: &MiningTexts<'_>, queries: &Range<usize>) -> MinedPart {
        let is_in = |(pair, _): &(usize, MinedPair)| queries.contains(&texts.query_of(*pair));
        let pairs = self.pairs.into_iter().enumerate().filter(is_in);
        let pairs = pairs
            .map(|(at, pair)| {
                let negative = |it: Negative| (it.document, it.score.map(f32::to_bits), it.rank);
                PartPair(at as u32, pair.positive_score.to_bits(), pair.negatives.into_iter().map(negative).collect())
            })
            .collect();
        let MiningAccount { candidates, left, chosen, filled, short, without, .. } = self.account;
        let MiningAccount { thrown, at_places, at_taken, .. } = self.account;
        MinedPart { counts: [candidates, left, chosen, filled, short, without], thrown, at_places, at_taken, pairs }
    }

    /// A mining out of its parts.
    pub fn of_parts(texts: &MiningTexts<'_>, per_pair: usize, parts: impl IntoIterator<Item = MinedPart>) -> Self {
        let mut mined = Self::of(texts, per_pair);
        for part in parts {
            let account = &mut mined.account;
            let of = [
                &mut account.candidates,
                &mut account.left,
                &mut account.chosen,
                &mut account.filled,
                &mut account.short,
                &mut account.without,
            ];
            of.into_iter().zip(part.counts).for_each(|(sum, count)| *sum += count);
            account.thrown.add(&part.thrown);
            account.at_places.add(&part.at_places);
            account.at_taken.add(&part.at_taken);
            for PartPair(at, positive, negatives) in part.pairs {
                let negative = |(document, score, rank): (u32, Option<u32>, Option<u32>)| Negative {
                    document,
                    score: score.map(f32::from_bits),
                    rank,
                };
                if let Some(pair) = mined.pairs.get_mut(at as usize) {
                    pair.positive_score = f32::from_bits(positive);
                    pair.negatives = negatives.into_iter().map(negative).collect();
                }
            }
        }
        mined
    }
}
