//! Hard negatives: documents that rank high for a query and are not its answers.
//!
//! [`MiningTexts`] says which queries and documents there are, a [`CandidateSource`] ranks documents for queries
//! ([`VectorSearch`] by vectors, [`TokenSearch`] token by token, [`LexicalSearch`] by words), [`select`] decides what
//! of a ranking may be a negative and what is taken, and [`mine_from`] does it for all of them, a block of queries at a
//! time, so that memory is bounded.
//!
//! The reference is sentence-transformers' `mine_hard_negatives` (6.2), whose rows come out equal for equal options
//! ([`formats`]). Where we differ: a document with the text of the query is no negative; texts are compared with white
//! space folded; what is drawn depends on the pair's id and not on the other pairs; given scores of a rescoring are
//! always used; and each candidate is counted under one rule, where its count for the least score holds the others too.

mod byte_size;
mod config;
pub mod copies;
pub mod estimate;
pub mod formats;
mod kept_rankings;
mod kept_scores;
mod lexical;
mod mined;
mod part;
mod rescore;
mod rescore_config;
mod rescorer;
mod search;
pub mod select;
mod source;
mod statistics;
mod store;
mod texts;
mod ties;
mod tokens;
mod vectors;

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use wb_core::{Document, Encoder, Pair, Progress, Seed, Side};

pub use byte_size::ByteSize;
pub use config::{MiningConfig, MiningRetriever, MiningRules, Mode, Sampling, Softmax, VectorsConfig};
pub use formats::Format;
pub use kept_scores::KeptScores;
pub use lexical::LexicalSearch;
pub use mined::{MinedNegatives, MinedPair, MinedPairs, MiningAccount, Negative};
pub use part::MinedPart;
pub use rescore::Rescored;
pub use rescore_config::{CrossEncoderConfig, RescoreConfig};
pub use rescorer::{RescoreRequest, Rescorer};
pub use search::{Blocks, VectorSearch, beside_a_device};
pub use select::{NegativeCandidate, Rule, Thrown};
pub use source::{Batch, CandidateSource, RankedQuery, Seen};
pub use statistics::Distribution;
pub use store::encode_to_file;
pub use texts::MiningTexts;
pub use ties::{CutTies, ROUNDING};
pub use tokens::TokenSearch;
pub use vectors::{Picked, VectorFile, Vectors};

use crate::{Error, Result, error::cannot_encode};
use copies::Copies;
use rescorer::{Listed, rescore};
use select::{Allowed, NegativeDraw, ScoreList};

/// Is told the candidates of each query, before any rule.
pub type CandidateWatch<'a> = &'a mut dyn FnMut(usize, &[NegativeCandidate]) -> Result<()>;

/// Settings that decide which negatives there are, beside texts and scores.
#[derive(Clone, Copy)]
pub struct MiningSetup<'a> {
    /// Rules by which documents may be negatives, and are taken.
    pub rules: &'a MiningRules,
    /// The mining among those of a training.
    pub round: Round<'a>,
    /// Scores of a stronger model in place of the retriever's.
    pub rescore: Option<&'a dyn Rescorer>,
    /// The first of the queries that are mined for, and the end; none for all.
    pub queries: Option<[usize; 2]>,
}

/// A mining among those of a training.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    /// Decides what is drawn, together with the number and the pair's id.
    pub seed: Seed,
    /// Number of minings before in this training; 0 outside of one.
    pub number: u64,
    /// Set from outside to break off; what was mined so far is lost then, and the result is [`Error::Stopped`].
    pub stop: Option<&'a AtomicBool>,
}

impl From<(Seed, u64)> for Round<'_> {
    /// One that nobody stops.
    fn from((seed, number): (Seed, u64)) -> Self {
        Self { seed, number, stop: None }
    }
}

impl<'a> MiningSetup<'a> {
    /// Mines by these rules alone, the first time.
    pub fn new(rules: &'a MiningRules, seed: Seed) -> Self {
        Self { rules, round: (seed, 0).into(), rescore: None, queries: None }
    }
}

/// Mines with an encoder, with all vectors in memory: during training, with the weights as they are.
///
/// `corpus` holds more documents than the pairs' positives, or none. A caller that mines again after some steps counts
/// up the round, and the draws are others. Whatever `retriever` says, the encoder ranks; given vectors would be those
/// of other weights, and are refused. Scores in a file are used, and so is `cross_encoder`, which has to be there where
/// the config names one.
pub fn mine<'a>(
    pairs: &[Pair],
    corpus: &[Document],
    encoder: &dyn Encoder,
    config: &MiningConfig,
    round: impl Into<Round<'a>>,
    cross_encoder: Option<&dyn Rescorer>,
    progress: &mut dyn FnMut(Progress),
) -> Result<MinedPairs> {
    if config.vectors.is_some() {
        let message = "are those of other weights, and cannot be mined with again during training";
        return Err(Error::value("negatives.vectors", message));
    }
    let texts = MiningTexts::new(pairs, corpus)?;
    let rules = config.rules();
    let file = config.rescore.as_ref().and_then(RescoreConfig::file);
    let rescored = file.map(|file| Rescored::read(file, &texts)).transpose()?;
    let rescore = rescored.as_ref().map(|scores| scores as &dyn Rescorer).or(cross_encoder);
    if config.rescore.is_some() && rescore.is_none() {
        let message = "is named, and none was opened";
        return Err(Error::value("negatives.rescore.cross_encoder", message));
    }
    let mining = MiningSetup { rules: &rules, round: round.into(), rescore, queries: None };
    if let Some(mut source) = TokenSearch::new(encoder, config.ram) {
        let mined = mine_from(&texts, &mut source, &mining, None, progress)?;
        return Ok(MinedPairs { pairs: mined.pairs_with_negatives(&texts), mined });
    }
    let mut encode = |texts: &[&str], side: Side| {
        let vectors = encoder.encode_single_vector(texts, side, progress);
        vectors.map_err(|source| cannot_encode(side.plural(), &encoder.name(), source))
    };
    let queries = encode(texts.queries(), Side::Query)?;
    let documents = encode(texts.documents(), Side::Document)?;
    // The vectors are in memory already, so blocks save nothing; between them it is looked whether to stop.
    let blocks = Blocks { queries: texts.queries().len().max(1), documents: BETWEEN_LOOKS };
    let mut source = VectorSearch::new(&texts, &queries, &documents, blocks)?.with(encoder.group_maxima());
    let mined = mine_from(&texts, &mut source, &mining, None, progress)?;
    Ok(MinedPairs { pairs: mined.pairs_with_negatives(&texts), mined })
}

/// Documents that are searched between two looks at whether to stop: a second or less for some ten thousand queries.
const BETWEEN_LOOKS: usize = 8192;

/// Mines from whatever ranks the documents, a block of queries at a time.
pub fn mine_from(
    texts: &MiningTexts<'_>,
    source: &mut dyn CandidateSource,
    mining: &MiningSetup<'_>,
    mut watch: Option<CandidateWatch<'_>>,
    progress: &mut dyn FnMut(Progress),
) -> Result<MinedNegatives> {
    let stage = if mining.rescore.is_some() { "rescoring negatives" } else { "searching negatives" };
    let [begin, end] = mining.queries.unwrap_or([0, texts.queries().len()]);
    let (n_queries, n_documents) = (end - begin, texts.documents().len());
    let (to, depth) = mining.rules.depth(texts.most_pairs(), texts.most_never(), mining.rescore.is_some());
    let depth = depth.min(n_documents);
    let go_on = || match mining.round.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
        true => Err(Error::Stopped),
        false => Ok(()),
    };
    let pairs_of = pairs_of(texts);
    let copies = Copies::new(texts, mining.rules.near_duplicates);
    let mut mined = MinedNegatives::of(texts, mining.rules.per_pair);
    progress(Progress::new(stage, 0, n_queries));
    let step = source.at_once().max(1);
    for first in (begin..end).step_by(step) {
        let queries = first..(first + step).min(end);
        let (n, before) = (queries.len(), first - begin);
        // One more than is asked for: whether the last one that is has the score of the first one that is not.
        let batch = Batch { texts, queries: queries.clone(), depth: (depth + 1).min(n_documents) };
        let ranked = source.rank(batch, &mut |seen| {
            // Not the whole block yet: its candidates are still to be looked at. Where they are rescored, that is nearly
            // all of the work.
            let part = if mining.rescore.is_some() { 0 } else { n * seen / n_documents.max(1) };
            progress(Progress::new(stage, before + part.min(n - 1), n_queries));
            go_on()
        })?;
        let ranked: Vec<Listed> = ranked.into_iter().map(|ranked| Listed::new(ranked, depth)).collect();
        if let Some(watch) = &mut watch {
            queries.clone().zip(&ranked).try_for_each(|(query, ranked)| watch(query, &ranked.candidates))?;
        }
        let mut ranked = ranked.into_iter();
        for from in queries.clone().step_by(RESCORED_TOGETHER) {
            let part = from..queries.end.min(from + RESCORED_TOGETHER);
            let mut part: Vec<(usize, Listed)> = part.zip(ranked.by_ref()).collect();
            go_on()?;
            if let Some(rescorer) = mining.rescore {
                let done = &mut |done| progress(Progress::new(stage, from - begin + done, n_queries));
                rescore(texts, rescorer, &mut part, done)?;
            }
            let of_queries: Vec<OfQuery> = part
                .into_par_iter()
                .map(|(query, listed)| of_query(texts, query, &listed, to, mining, &copies, &pairs_of[query]))
                .collect();
            of_queries.into_iter().for_each(|of_query| mined.take(of_query));
        }
        progress(Progress::new(stage, before + n, n_queries));
    }
    Ok(mined)
}

/// Result for one query.
pub(crate) struct OfQuery {
    candidates: u64,
    thrown: Thrown,
    left: u64,
    /// Ties at the ends of the places that are looked at.
    at_places: CutTies,
    /// Ties at what is taken for each pair.
    at_taken: CutTies,
    pairs: Vec<(usize, MinedPair)>,
}

/// The pairs of each query, by position.
fn pairs_of(texts: &MiningTexts<'_>) -> Vec<Vec<u32>> {
    let mut pairs = vec![Vec::new(); texts.queries().len()];
    (0..texts.pairs().len()).for_each(|pair| pairs[texts.query_of(pair)].push(pair as u32));
    pairs
}

/// Queries whose candidates are rescored together: enough to be sorted by length, few enough for memory.
const RESCORED_TOGETHER: usize = 64;

fn of_query(
    texts: &MiningTexts<'_>,
    query: usize,
    Listed { candidates, positive_scores, at_end }: &Listed,
    to: usize,
    mining: &MiningSetup<'_>,
    copies: &Copies<'_>,
    pairs: &[u32],
) -> OfQuery {
    let rules = mining.rules;
    let list = ScoreList {
        candidates,
        rescored: mining.rescore.is_some(),
        positive_scores,
        positives: texts.positives(query),
        never: texts.never(query),
    };
    let Allowed { left, thrown, mut at_places, reached } = select::allowed(&list, rules, to, |a, b| copies.are(a, b));
    // Where the ranking ended before the places did, its end is the cut.
    if !reached {
        at_places.add(at_end);
    }
    let at_taken = select::ties(&left, rules);
    let of_pair = |pair: &u32| {
        let pair = *pair as usize;
        let Round { seed, number, .. } = mining.round;
        let draw = NegativeDraw { seed, round: number, pair: &texts.pairs()[pair].id };
        let mut negatives: Vec<Negative> =
            select::choose(&left, rules, &draw).into_iter().map(Negative::from).collect();
        if rules.fill && negatives.len() < rules.per_pair {
            let is_taken = |document| {
                texts.never(query).binary_search(&document).is_ok() || negatives.iter().any(|n| n.document == document)
            };
            let filled = select::fill(rules.per_pair - negatives.len(), texts.documents().len(), is_taken, &draw);
            negatives.extend(filled.into_iter().map(|document| Negative { document, score: None, rank: None }));
        }
        let slot = texts.positives(query).iter().position(|document| *document == texts.positive_of(pair));
        let positive_score = slot.map_or(f32::NAN, |slot| positive_scores[slot]);
        (pair, MinedPair { positive_score, negatives })
    };
    // Each pair of the query takes the same.
    let n = pairs.len() as u64;
    OfQuery {
        candidates: candidates.len() as u64,
        thrown,
        left: left.len() as u64,
        at_places,
        at_taken: CutTies { cuts: at_taken.cuts * n, tied: at_taken.tied * n, candidates: at_taken.candidates * n },
        pairs: pairs.iter().map(of_pair).collect(),
    }
}

#[cfg(test)]
mod tests;
