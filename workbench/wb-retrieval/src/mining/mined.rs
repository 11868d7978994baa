//! The result of mining: each pair's negatives with their scores and places, and an account of all that was looked at.

use std::{collections::HashMap, sync::Arc};

use wb_core::Pair;

use super::{CutTies, MiningTexts, NegativeCandidate, OfQuery, Thrown};

/// A document that was taken as a negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Negative {
    /// Position of the document in [`MiningTexts`].
    pub document: u32,
    /// Its score; none for one that was drawn from all documents.
    pub score: Option<f32>,
    /// Its place in the retriever's ranking, from 1; none for one that was drawn from all documents.
    pub rank: Option<u32>,
}

impl From<NegativeCandidate> for Negative {
    fn from(candidate: NegativeCandidate) -> Self {
        Self { document: candidate.document, score: Some(candidate.score), rank: Some(candidate.rank) }
    }
}

/// One pair's part.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MinedPair {
    /// The score of the pair's own positive.
    pub positive_score: f32,
    /// Best first, and behind them what was drawn at random.
    pub negatives: Vec<Negative>,
}

/// Counts of all that was looked at, by what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MiningAccount {
    /// Pairs.
    pub pairs: u64,
    /// Different anchors.
    pub queries: u64,
    /// Different documents.
    pub documents: u64,
    /// Candidates that were ranked for all queries.
    pub candidates: u64,
    /// Candidates that no negative was taken from, by the rule that threw them away.
    pub thrown: Thrown,
    /// Candidates that were left.
    pub left: u64,
    /// Negatives that were taken from what was left, summed over pairs.
    pub chosen: u64,
    /// Negatives that were drawn from all documents.
    pub filled: u64,
    /// Pairs with fewer negatives than were asked for.
    pub short: u64,
    /// Pairs without any.
    pub without: u64,
    /// Ties at the ends of the places that are looked at, one cut or two a query.
    pub at_places: CutTies,
    /// Ties between what was taken from the best down and what was left, one cut a pair; none where negatives are
    /// drawn.
    pub at_taken: CutTies,
}

/// The negatives that were mined, pair by pair.
#[derive(Debug, Clone, PartialEq)]
pub struct MinedNegatives {
    /// One a pair, in the order of the pairs.
    pub pairs: Vec<MinedPair>,
    /// The account.
    pub account: MiningAccount,
    per_pair: usize,
}

/// Pairs with their negatives, and how they came to be.
#[derive(Debug, Clone, PartialEq)]
pub struct MinedPairs {
    /// The pairs in order; the negatives that they had are replaced.
    pub pairs: Vec<Pair>,
    /// Scores, places and the account.
    pub mined: MinedNegatives,
}

impl MinedNegatives {
    pub(super) fn of(texts: &MiningTexts<'_>, per_pair: usize) -> Self {
        let account = MiningAccount {
            pairs: texts.pairs().len() as u64,
            queries: texts.queries().len() as u64,
            documents: texts.documents().len() as u64,
            ..MiningAccount::default()
        };
        Self { pairs: vec![MinedPair::default(); texts.pairs().len()], account, per_pair }
    }

    pub(super) fn take(&mut self, of_query: OfQuery) {
        let account = &mut self.account;
        account.candidates += of_query.candidates;
        account.left += of_query.left;
        account.thrown.add(&of_query.thrown);
        account.at_places.add(&of_query.at_places);
        account.at_taken.add(&of_query.at_taken);
        for (at, pair) in of_query.pairs {
            let chosen = pair.negatives.iter().filter(|negative| negative.rank.is_some()).count();
            account.chosen += chosen as u64;
            account.filled += (pair.negatives.len() - chosen) as u64;
            account.short += u64::from(pair.negatives.len() < self.per_pair);
            account.without += u64::from(pair.negatives.is_empty());
            self.pairs[at] = pair;
        }
    }

    /// The texts of a pair's negatives.
    pub fn negatives<'t>(&'t self, texts: &'t MiningTexts<'_>, pair: usize) -> impl Iterator<Item = &'t str> {
        self.pairs[pair].negatives.iter().map(|negative| texts.documents()[negative.document as usize])
    }

    /// The pairs with these negatives in place of those that they had.
    pub fn pairs_with_negatives(&self, texts: &MiningTexts<'_>) -> Vec<Pair> {
        // Each text once, however many pairs have it.
        let mut shared: HashMap<u32, Arc<str>> = HashMap::new();
        let mut text = |document: u32| {
            Arc::clone(shared.entry(document).or_insert_with(|| texts.documents()[document as usize].into()))
        };
        let with = |(at, pair): (usize, &Pair)| Pair {
            negatives: self.pairs[at].negatives.iter().map(|negative| text(negative.document)).collect(),
            // Not cloned with the others.
            id: pair.id.clone(),
            task: pair.task,
            language: pair.language.clone(),
            anchor: pair.anchor.clone(),
            positive: pair.positive.clone(),
            origin: pair.origin.clone(),
            // Nobody scored the new ones; the positive keeps its score.
            scores: pair.scores.first().copied().into_iter().collect(),
        };
        texts.pairs().iter().enumerate().map(with).collect()
    }

    /// The scores of pairs' positives, of their negatives, and the differences of the two, one for each negative.
    pub fn scores(&self) -> [Vec<f32>; 3] {
        let positives = self.pairs.iter().map(|pair| pair.positive_score).collect();
        let (mut negatives, mut differences) = (Vec::new(), Vec::new());
        for pair in &self.pairs {
            for score in pair.negatives.iter().filter_map(|negative| negative.score) {
                negatives.push(score);
                differences.push(pair.positive_score - score);
            }
        }
        [positives, negatives, differences]
    }
}
