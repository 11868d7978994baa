//! A stronger model in place of the retriever: other scores for a query and some documents.

use super::{CutTies, MiningTexts, NegativeCandidate, RankedQuery};
use crate::{Error, Result};

/// A query and documents, by their positions in [`MiningTexts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RescoreRequest {
    /// The query.
    pub query: usize,
    /// Candidates, and behind them the query's positives.
    pub documents: Vec<u32>,
}

/// Scores in place of a retriever's. What a query and a document get depends on these two alone.
pub trait Rescorer: Sync {
    /// One score for each document that is asked for, none where there is none. `done` is told how many of the queries
    /// are done, about.
    fn rescore(
        &self,
        texts: &MiningTexts<'_>,
        asked: &[RescoreRequest],
        done: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<Option<f32>>>>;
}

/// One query's candidates by their places in the ranking, and its positives' scores.
pub(super) struct Listed {
    pub candidates: Vec<NegativeCandidate>,
    pub positive_scores: Vec<f32>,
    /// Ties at the ranking's end, by the retriever's scores.
    pub at_end: CutTies,
}

impl Listed {
    /// The best `depth` of a ranking that may be one longer.
    pub fn new(ranked: RankedQuery, depth: usize) -> Self {
        let mut candidates = ranked.candidates();
        let at_end = CutTies::at(|place| candidates[place].score, candidates.len(), depth);
        candidates.truncate(depth);
        Self { candidates, positive_scores: ranked.positives, at_end }
    }
}

/// Puts a stronger model's scores in place of the retriever's: of all candidates, positives among them, and of the
/// positives wherever they are ranked.
pub(super) fn rescore(
    texts: &MiningTexts<'_>,
    rescorer: &dyn Rescorer,
    part: &mut [(usize, Listed)],
    done: &mut dyn FnMut(usize),
) -> Result<()> {
    let asked = |(query, listed): &(usize, Listed)| {
        let candidates = listed.candidates.iter().map(|candidate| candidate.document);
        RescoreRequest { query: *query, documents: candidates.chain(texts.positives(*query).iter().copied()).collect() }
    };
    let asked: Vec<RescoreRequest> = part.iter().map(asked).collect();
    let scores = rescorer.rescore(texts, &asked, done)?;
    for ((query, listed), scores) in part.iter_mut().zip(scores) {
        let (of_candidates, of_positives) = scores.split_at(listed.candidates.len().min(scores.len()));
        for (candidate, score) in listed.candidates.iter_mut().zip(of_candidates) {
            candidate.score = score.unwrap_or(f32::NAN);
        }
        let of_positives = of_positives.iter().zip(texts.positives(*query));
        listed.positive_scores = of_positives
            .map(|(score, document)| score.ok_or_else(|| no_score(texts, *query, *document)))
            .collect::<Result<_>>()?;
    }
    Ok(())
}

fn no_score(texts: &MiningTexts<'_>, query: usize, document: u32) -> Error {
    let pair = &texts.pairs()[texts.first_pair_of(query)].id;
    let message = format!("no score for the positive `{}`", texts.document_ids()[document as usize]);
    Error::data(format!("rescoring of pair `{pair}`"), message)
        .with_hint("score each pair's own positive too: margins are measured from it")
}
