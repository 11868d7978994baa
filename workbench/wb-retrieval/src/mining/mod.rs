//! Hard negatives: documents that rank high for a query and are not its answers.
//!
//! [`Texts`] says which queries and documents there are, a [`CandidateSource`] ranks documents for queries
//! ([`VectorSearch`] by vectors, [`TokenSearch`] token by token, [`LexicalSearch`] by words), [`select`] decides what of a ranking may be a negative and
//! what is taken, and [`mine_from`] does it for all of them, a block of queries at a time, so that memory is bounded.
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
mod lexical;
mod mined;
mod rescore;
mod search;
pub mod select;
mod source;
mod statistics;
mod store;
mod texts;
mod tokens;
mod vectors;

use rayon::prelude::*;
use wb_core::{Document, Encoder, Pair, Progress, Seed, Side, progress::silent};

pub use byte_size::ByteSize;
pub use config::{MiningConfig, MiningRetriever, Mode, Rules, Sampling, Softmax, VectorsConfig};
pub use formats::Format;
pub use lexical::LexicalSearch;
pub use mined::{Account, Mined, MinedPair, MinedPairs, Negative};
pub use rescore::Rescored;
pub use search::{Blocks, VectorSearch};
pub use select::{Candidate, Rule, Thrown};
pub use source::{Batch, CandidateSource, Ranked};
pub use statistics::Distribution;
pub use store::encode_to_file;
pub use texts::Texts;
pub use tokens::TokenSearch;
pub use vectors::{Picked, VectorFile, Vectors};

use crate::{Error, Result};
use copies::Copies;
use select::{Draw, ScoreList};

/// Another score for a query and some documents (positions in [`Texts`]); none where there is none.
pub type Rescore<'a> = &'a (dyn Fn(usize, &[u32]) -> Vec<Option<f32>> + Sync);
/// Is told the candidates of each query, before any rule.
pub type Watch<'a> = &'a mut dyn FnMut(usize, &[Candidate]) -> Result<()>;

/// What decides which negatives there are, beside texts and scores.
#[derive(Clone, Copy)]
pub struct Mining<'a> {
    /// Which documents may be negatives, and which of them are taken.
    pub rules: &'a Rules,
    /// Decides what is drawn, together with the round and the pair's id.
    pub seed: Seed,
    /// How often it was mined before in this training; 0 outside of one.
    pub round: u64,
    /// Scores of a stronger model in place of the retriever's.
    pub rescore: Option<Rescore<'a>>,
}

impl<'a> Mining<'a> {
    /// By these rules alone, the first time.
    pub fn new(rules: &'a Rules, seed: Seed) -> Self {
        Self { rules, seed, round: 0, rescore: None }
    }
}

/// Mines with an encoder, with all vectors in memory: during training, with the weights as they are.
///
/// `corpus` holds more documents than the pairs' positives, or none. A caller that mines again after some steps counts
/// up `round`, and the draws are others. Whatever `retriever` says, the encoder ranks; given vectors would be those of
/// other weights, and are refused. Given scores of a rescoring are used: a document without one is no negative.
pub fn mine(
    pairs: &[Pair],
    corpus: &[Document],
    encoder: &dyn Encoder,
    config: &MiningConfig,
    (seed, round): (Seed, u64),
    progress: &mut dyn FnMut(Progress),
) -> Result<MinedPairs> {
    if config.vectors.is_some() {
        let message = "are those of other weights, and cannot be mined with again during training";
        return Err(wb_core::Error::value("negatives.vectors", message).into());
    }
    let texts = Texts::new(pairs, corpus)?;
    let rules = config.rules();
    let rescored = config.rescore.as_ref().map(|file| Rescored::read(file, &texts)).transpose()?;
    let rescore = rescored.as_ref().map(|scores| |query: usize, documents: &[u32]| scores.scores(query, documents));
    let mut mining = Mining { round, ..Mining::new(&rules, seed) };
    mining.rescore = rescore.as_ref().map(|rescore| rescore as _);
    if let Some(mut source) = TokenSearch::new(encoder, config.ram) {
        let mined = mine_from(&texts, &mut source, &mining, None, progress)?;
        return Ok(MinedPairs { pairs: mined.pairs_with_negatives(&texts), mined });
    }
    let mut encode = |texts: &[&str], side, what| {
        let vectors = encoder.encode(texts, side, progress);
        vectors.map_err(|source| Error::Encoder { what, encoder: encoder.name(), source })
    };
    let queries = encode(texts.queries(), Side::Query, "queries")?;
    let documents = encode(texts.documents(), Side::Document, "documents")?;
    // The vectors are in memory already, so blocks save nothing.
    let blocks = Blocks { queries: texts.queries().len().max(1), documents: texts.documents().len().max(1) };
    let mut source = VectorSearch::new(&texts, &queries, &documents, blocks)?;
    let mined = mine_from(&texts, &mut source, &mining, None, progress)?;
    Ok(MinedPairs { pairs: mined.pairs_with_negatives(&texts), mined })
}

/// Mines from whatever ranks the documents, a block of queries at a time.
pub fn mine_from(
    texts: &Texts<'_>,
    source: &mut dyn CandidateSource,
    mining: &Mining<'_>,
    mut watch: Option<Watch<'_>>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Mined> {
    const STAGE: &str = "searching negatives";
    let (n_queries, n_documents) = (texts.queries().len(), texts.documents().len());
    let (to, depth) = mining.rules.depth(texts.most_pairs(), texts.most_never(), mining.rescore.is_some());
    let depth = depth.min(n_documents);
    let pairs_of = pairs_of(texts);
    let copies = Copies::new(texts, mining.rules.near_duplicates);
    let mut mined = Mined::of(texts, mining.rules.per_pair);
    progress(Progress::new(STAGE, 0, n_queries));
    let step = source.at_once().max(1);
    for first in (0..n_queries).step_by(step) {
        let queries = first..(first + step).min(n_queries);
        let n = queries.len();
        let batch = Batch { texts, queries: queries.clone(), depth };
        let ranked = source.rank(batch, &mut |seen| {
            // Not the whole block yet: its candidates are still to be looked at.
            let part = n * seen / n_documents.max(1);
            progress(Progress::new(STAGE, first + part.min(n - 1), n_queries));
        })?;
        if let Some(watch) = &mut watch {
            queries.clone().zip(&ranked).try_for_each(|(query, ranked)| watch(query, &ranked.candidates()))?;
        }
        let of_queries: Vec<Result<OfQuery>> = queries
            .into_par_iter()
            .zip(ranked)
            .map(|(query, ranked)| of_query(texts, query, ranked, to, mining, &copies, &pairs_of[query]))
            .collect();
        for of_query in of_queries {
            mined.take(of_query?);
        }
        progress(Progress::new(STAGE, first + n, n_queries));
    }
    Ok(mined)
}

/// Mines what was ranked already; for small lists and tests.
pub fn mine_ranked(texts: &Texts<'_>, ranked: Vec<Ranked>, mining: &Mining<'_>) -> Result<Mined> {
    struct Given(Vec<Ranked>);
    impl CandidateSource for Given {
        fn at_once(&self) -> usize {
            self.0.len()
        }

        fn rank(&mut self, _: Batch<'_, '_>, _: &mut dyn FnMut(usize)) -> Result<Vec<Ranked>> {
            Ok(std::mem::take(&mut self.0))
        }
    }
    let (given, expected) = (ranked.len(), texts.queries().len());
    if given != expected {
        return Err(Error::Lengths { what: "rankings and queries", given, expected });
    }
    mine_from(texts, &mut Given(ranked), mining, None, &mut silent)
}

/// What came out for one query.
pub(crate) struct OfQuery {
    candidates: u64,
    thrown: Thrown,
    left: u64,
    pairs: Vec<(usize, MinedPair)>,
}

/// The pairs of each query, by position.
fn pairs_of(texts: &Texts<'_>) -> Vec<Vec<u32>> {
    let mut pairs = vec![Vec::new(); texts.queries().len()];
    (0..texts.pairs().len()).for_each(|pair| pairs[texts.query_of(pair)].push(pair as u32));
    pairs
}

fn of_query(
    texts: &Texts<'_>,
    query: usize,
    ranked: Ranked,
    to: usize,
    mining: &Mining<'_>,
    copies: &Copies<'_>,
    pairs: &[u32],
) -> Result<OfQuery> {
    let rules = mining.rules;
    let mut candidates = ranked.candidates();
    let mut positive_scores = ranked.positives;
    if let Some(rescore) = mining.rescore {
        let documents: Vec<u32> = candidates.iter().map(|candidate| candidate.document).collect();
        for (candidate, score) in candidates.iter_mut().zip(rescore(query, &documents)) {
            candidate.score = score.unwrap_or(f32::NAN);
        }
        let scores = rescore(query, texts.positives(query)).into_iter().zip(texts.positives(query));
        positive_scores = scores
            .map(|(score, document)| score.ok_or_else(|| no_score(texts, query, *document)))
            .collect::<Result<_>>()?;
    }
    let list = ScoreList {
        candidates: &candidates,
        rescored: mining.rescore.is_some(),
        positive_scores: &positive_scores,
        positives: texts.positives(query),
        never: texts.never(query),
    };
    let (left, thrown) = select::allowed(&list, rules, to, |a, b| copies.are(a, b));
    let of_pair = |pair: &u32| {
        let pair = *pair as usize;
        let draw = Draw { seed: mining.seed, round: mining.round, pair: &texts.pairs()[pair].id };
        let mut negatives: Vec<Negative> =
            select::choose(&left, rules, &draw).into_iter().map(Negative::from).collect();
        if rules.fill && negatives.len() < rules.per_pair {
            let is_taken = |document| {
                texts.never(query).binary_search(&document).is_ok() || negatives.iter().any(|n| n.document == document)
            };
            let filled = select::fill(rules.per_pair - negatives.len(), texts.documents().len(), is_taken, &draw);
            negatives.extend(filled.into_iter().map(Negative::at_random));
        }
        let slot = texts.positives(query).iter().position(|document| *document == texts.positive_of(pair));
        let positive_score = slot.map_or(f32::NAN, |slot| positive_scores[slot]);
        (pair, MinedPair { positive_score, negatives })
    };
    Ok(OfQuery {
        candidates: candidates.len() as u64,
        thrown,
        left: left.len() as u64,
        pairs: pairs.iter().map(of_pair).collect(),
    })
}

fn no_score(texts: &Texts<'_>, query: usize, document: u32) -> Error {
    let pair = &texts.pairs()[texts.first_pair_of(query)].id;
    let message = format!("no score for the positive `{}`", texts.document_ids()[document as usize]);
    wb_core::Error::data(format!("rescoring of pair `{pair}`"), message)
        .with_hint("score each pair's own positive too: margins are measured from it")
        .into()
}

#[cfg(test)]
mod tests;
