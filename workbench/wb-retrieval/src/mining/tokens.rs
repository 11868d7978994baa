//! Candidates by late interaction: every query meets every document token by token, a block of documents at a time.

use std::{path::PathBuf, time::Duration};

use rayon::prelude::*;
use wb_core::{Embeddings, Encoder, Interaction, Side, progress::silent};

use super::{Batch, ByteSize, CandidateSource, RankedQuery, Seen, kept_rankings::KeptRankings};
use crate::{
    Result, dense,
    maxsim::max_sim,
    top_k::{keep_best, key},
};

/// Documents that are encoded and searched together.
const DOCUMENTS: usize = 512;
/// Tokens that a query is taken to have where memory is planned.
const QUERY_TOKENS: u64 = 64;
/// Time after which what was found is kept: little beside what encoding takes, and little work to lose.
const EVERY: Duration = Duration::from_secs(20);

/// Ranks documents by MaxSim over the number of the query's tokens: the mean of cosines, so that limits and margins
/// mean what they mean for one vector a text.
///
/// Token vectors are many, so documents are not kept: they are encoded once for each block of queries, which is as
/// large as memory lets it be. Time grows with the product of all tokens of both sides. What can be kept is how far it
/// came ([`TokenSearch::keeping`]).
pub struct TokenSearch<'a> {
    encoder: &'a dyn Encoder,
    at_once: usize,
    kept: Option<(PathBuf, Duration)>,
}

impl<'a> TokenSearch<'a> {
    /// Takes an encoder of one vector a token; gives none where it gives one a text. A quarter of `ram` holds queries.
    pub fn new(encoder: &'a dyn Encoder, ram: ByteSize) -> Option<Self> {
        let a_query = 4 * QUERY_TOKENS * encoder.dim().max(1) as u64 + 4 * DOCUMENTS as u64;
        let at_once = (ram.0 / 4 / a_query).clamp(64, u64::from(u32::MAX)) as usize;
        (encoder.interaction() == Interaction::MaxSim).then_some(Self { encoder, at_once, kept: None })
    }

    /// Keeps what it has found in a folder from time to time, and goes on from what is there. The folder must be named
    /// by all that decides the scores: the encoder, the texts, and which of them are positives.
    #[must_use]
    pub fn keeping(self, folder: PathBuf) -> Self {
        Self { kept: Some((folder, EVERY)), ..self }
    }

    fn encode(&self, texts: &[&str], side: Side) -> Result<Embeddings> {
        dense::encode(self.encoder, texts, side, &mut silent)
    }
}

impl CandidateSource for TokenSearch<'_> {
    fn at_once(&self) -> usize {
        self.at_once
    }

    fn rank(&mut self, batch: Batch<'_, '_>, seen: Seen<'_>) -> Result<Vec<RankedQuery>> {
        let Batch { texts, queries, depth } = batch;
        let mut kept = self.kept.as_ref().map(|(folder, every)| {
            let name = format!("{}-{}-{depth}.rankings", queries.start, queries.end);
            KeptRankings::new(folder.join(name), *every)
        });
        let positives: Vec<usize> = queries.clone().map(|query| texts.positives(query).len()).collect();
        let (done, mut ranked) = match kept.as_ref().map(|kept| kept.read(&positives)).transpose()?.flatten() {
            Some(found) => found,
            None => (0, positives.into_iter().map(RankedQuery::new).collect()),
        };
        let all = texts.documents().len();
        if done >= all && all > 0 {
            seen(all)?;
            return Ok(ranked);
        }
        let vectors = self.encode(&texts.queries()[queries.clone()], Side::Query)?;
        let mean = |query: usize| 1.0 / vectors.rows(query..query + 1).len().max(1) as f32;
        let means: Vec<f32> = (0..vectors.texts()).map(mean).collect();
        for (number, block) in texts.documents().chunks(DOCUMENTS).enumerate().skip(done / DOCUMENTS) {
            let first = number * DOCUMENTS;
            let scores = max_sim(&vectors, &self.encode(block, Side::Document)?)?;
            let rows = scores.as_slice().unwrap_or_default().par_chunks(block.len());
            ranked.par_iter_mut().zip(rows).zip(queries.clone()).zip(&means).for_each(
                |(((ranked, row), query), mean)| {
                    let hits = row.iter().zip(first..).map(|(score, at)| key(score * mean, at as u32));
                    ranked.keys.extend(hits);
                    keep_best(&mut ranked.keys, depth);
                    for (slot, document) in ranked.positives.iter_mut().zip(texts.positives(query)) {
                        if let Some(score) = (*document as usize).checked_sub(first).and_then(|at| row.get(at)) {
                            *slot = score * mean;
                        }
                    }
                },
            );
            let so_far = first + block.len();
            if let Some(kept) = &mut kept {
                kept.keep(so_far, so_far == all, &ranked)?;
            }
            seen(so_far)?;
        }
        Ok(ranked)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use wb_core::Pair;

    use super::*;
    use crate::{
        dense::tests::{Encoded, LETTER_TOKENS, LETTERS, Made},
        mining::MiningTexts,
    };

    fn pairs() -> Vec<Pair> {
        let pair = |at: usize| Pair {
            id: format!("p{at}"),
            anchor: ["ab", "xyz", "mm"][at % 3].to_owned() + &"q".repeat(at / 3 % 7),
            positive: format!("{}{}", ["abab", "zyx", "mmn"][at % 3], "r".repeat(at)),
            ..Pair::default()
        };
        (0..DOCUMENTS + 40).map(pair).collect()
    }

    /// An encoder of letters that counts its calls, and breaks off at one of them.
    fn breaking(calls: &Cell<usize>, at: usize) -> impl Encoder {
        let Made { name, dim, interaction, encode } = LETTER_TOKENS;
        let encode = move |texts: &[&str], side: Side| -> Encoded {
            calls.set(calls.get() + 1);
            if calls.get() == at { Err("broke off".into()) } else { encode(texts, side) }
        };
        Made { name, dim, interaction, encode }
    }

    #[test]
    fn a_search_that_broke_off_goes_on_and_finds_the_same() {
        let (pairs, folder) = (pairs(), tempfile::tempdir().unwrap());
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let batch = || Batch { texts: &texts, queries: 3..texts.queries().len(), depth: 20 };
        let sorted =
            |ranked: Vec<RankedQuery>| ranked.into_iter().map(|r| (r.candidates(), r.positives)).collect::<Vec<_>>();
        let rank = |breaks_at: usize| {
            let calls = Cell::new(0);
            let encoder = breaking(&calls, breaks_at);
            let search = TokenSearch::new(&encoder, ByteSize(1 << 30)).unwrap();
            let mut search = TokenSearch { kept: Some((folder.path().join("kept"), Duration::ZERO)), ..search };
            let ranked = search.rank(batch(), &mut |_| Ok(()));
            (ranked.map(sorted), calls.get())
        };
        let mut whole = TokenSearch::new(&LETTER_TOKENS, ByteSize(1 << 30)).unwrap();
        let expected = sorted(whole.rank(batch(), &mut |_| Ok(())).unwrap());
        // Queries, then two blocks of documents: it breaks off at the second, and goes on with that.
        assert!(rank(3).0.is_err());
        let (found, calls) = rank(usize::MAX);
        assert_eq!(found.unwrap(), expected);
        assert_eq!(calls, 2, "queries, and the block that was missing");
        // Nothing is left to encode.
        let (found, calls) = rank(1);
        assert_eq!((found.unwrap(), calls), (expected, 0));
        // Another depth is another search.
        let deeper = Batch { depth: 21, ..batch() };
        let calls = Cell::new(0);
        let encoder = breaking(&calls, usize::MAX);
        let mut search = TokenSearch::new(&encoder, ByteSize(1 << 30)).unwrap().keeping(folder.path().join("kept"));
        search.rank(deeper, &mut |_| Ok(())).unwrap();
        assert_eq!(calls.get(), 3);
    }

    #[test]
    fn blocks_of_documents_are_one_ranking() {
        let pairs = pairs();
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let (queries, depth) = (3..texts.queries().len(), 20);
        let mut search = TokenSearch::new(&LETTER_TOKENS, ByteSize(1 << 30)).unwrap();
        let found = search.rank(Batch { texts: &texts, queries: queries.clone(), depth }, &mut |_| Ok(())).unwrap();
        let all = search.encode(texts.documents(), Side::Document).unwrap();
        let of_queries = search.encode(&texts.queries()[queries.clone()], Side::Query).unwrap();
        let scores = max_sim(&of_queries, &all).unwrap();
        for ((ranked, query), row) in found.iter().zip(queries).zip(scores.outer_iter()) {
            let n = texts.queries()[query].len() as f32;
            let best = crate::top_k::top_k(&row.iter().map(|s| s * (1.0 / n)).collect::<Vec<_>>(), depth);
            let found: Vec<(u32, f32)> = ranked.candidates().iter().map(|c| (c.document, c.score)).collect();
            assert_eq!(found, best.iter().map(|hit| (hit.document as u32, hit.score)).collect::<Vec<_>>());
            let own = texts.positives(query).iter().map(|p| row[*p as usize] * (1.0 / n));
            assert_eq!(ranked.positives, own.collect::<Vec<_>>());
        }
        assert!(TokenSearch::new(&LETTERS, ByteSize(1 << 30)).is_none());
    }
}
