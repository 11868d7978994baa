//! `negatives.json`: how hard negatives were mined, what became of all candidates, how many may be answers, and a sample.

use serde::{Deserialize, Serialize};

/// The account of one mining.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NegativesCard {
    /// Ranker of the documents: an encoder's name, or `bm25`.
    pub retriever: String,
    /// The rules in words: name and value.
    pub rules: Vec<(String, String)>,
    /// Pairs that were mined for.
    pub pairs: u64,
    /// Different anchors.
    pub queries: u64,
    /// Different documents.
    pub documents: u64,
    /// Candidates that were ranked for all queries.
    pub candidates: u64,
    /// Candidates thrown away, by the first rule that did, in the order of the rules.
    pub thrown: Vec<(String, u64)>,
    /// Candidates that were left.
    pub left: u64,
    /// Negatives taken from what was left, summed over pairs.
    pub chosen: u64,
    /// Negatives drawn from all documents.
    pub filled: u64,
    /// Pairs with fewer negatives than were asked for.
    pub short: u64,
    /// Pairs without any.
    pub without: u64,
    /// Pairs whose own negatives, listed before, were replaced.
    pub replaced: u64,
    /// Cuts at which another device may take other documents: scores that are equal within rounding, at each cut.
    #[serde(default)]
    pub ties: Vec<TieRow>,
    /// Scores of positives, of negatives, and differences of the two.
    pub scores: Vec<ScoreRow>,
    /// Estimate of the negatives that may be answers.
    pub estimates: Vec<EstimateRow>,
    /// A sample of pairs for a reader's eyes.
    pub triples: Vec<Triple>,
}

/// Ties at one cut: between what is kept and what is not, scores are equal within rounding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TieRow {
    /// Name of the cut, in words.
    pub cut: String,
    /// Number of times that it was made: once a query, or once a pair.
    pub of: u64,
    /// Number of times that it went through a tie.
    pub tied: u64,
    /// Candidates with the score of a tied cut, on both of its sides.
    pub candidates: u64,
}

/// One column of the table of scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreRow {
    /// `positive`, `negative`, `difference`.
    pub name: String,
    /// Number of these.
    pub count: u64,
    /// Mean, sample deviation, least, lower quartile, median, upper quartile, greatest.
    pub values: [f64; 7],
}

/// One estimate of how many negatives may be answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EstimateRow {
    /// Name of what was counted.
    pub measure: String,
    /// Sampled negatives that have it.
    pub hits: u64,
    /// Sampled negatives.
    pub of: u64,
    /// The ends of the 95 % interval of the share (Wilson's).
    pub interval: [f64; 2],
    /// Random documents that have it, of as many.
    pub random_hits: u64,
    /// The ends of its interval.
    pub random_interval: [f64; 2],
}

/// A pair with its negatives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Triple {
    /// The pair's id.
    pub id: String,
    /// Its programming language.
    pub language: String,
    /// The query side.
    pub anchor: String,
    /// The document that answers it.
    pub positive: String,
    /// The positive's score.
    pub score: f32,
    /// Best first.
    pub negatives: Vec<TripleNegative>,
}

/// A negative of a [`Triple`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TripleNegative {
    /// The document's id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Its score; null for one that was drawn from all documents.
    pub score: Option<f32>,
    /// Its place in the ranking, from 1; null for one that was drawn from all documents.
    pub rank: Option<u32>,
}
