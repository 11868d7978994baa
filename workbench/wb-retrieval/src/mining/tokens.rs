//! Candidates by late interaction: every query meets every document token by token, a block of documents at a time.

use rayon::prelude::*;
use wb_core::{Encoder, Side, TokenEmbeddings, TokenEncoder, progress::silent};

use super::{Batch, ByteSize, CandidateSource, Ranked};
use crate::{
    Result,
    late_interaction::encode_tokens,
    maxsim::max_sim,
    top_k::{keep_best, key},
};

/// Documents that are encoded and searched together.
const DOCUMENTS: usize = 512;
/// Tokens that a query is taken to have where memory is planned.
const QUERY_TOKENS: u64 = 64;

/// Ranks documents by MaxSim over the number of the query's tokens: the mean of cosines, so that limits and margins mean
/// what they mean for one vector a text.
///
/// Token vectors are many, so documents are not kept: they are encoded once for each block of queries, which is as large
/// as memory lets it be. Time grows with the product of all tokens of both sides.
pub struct TokenSearch<'a> {
    name: String,
    encoder: &'a dyn TokenEncoder,
    at_once: usize,
}

impl<'a> TokenSearch<'a> {
    /// Of an encoder of one vector a token; none where it gives one a text. A quarter of `ram` holds queries.
    pub fn new(encoder: &'a dyn Encoder, ram: ByteSize) -> Option<Self> {
        let a_query = 4 * QUERY_TOKENS * encoder.dim().max(1) as u64 + 4 * DOCUMENTS as u64;
        let at_once = (ram.0 / 4 / a_query).clamp(64, u64::from(u32::MAX)) as usize;
        Some(Self { name: encoder.name(), encoder: encoder.late_interaction()?, at_once })
    }

    fn encode(&self, texts: &[&str], side: Side) -> Result<TokenEmbeddings> {
        encode_tokens(&self.name, self.encoder, texts, side, &mut silent)
    }
}

impl CandidateSource for TokenSearch<'_> {
    fn at_once(&self) -> usize {
        self.at_once
    }

    fn rank(&mut self, batch: Batch<'_, '_>, seen: &mut dyn FnMut(usize)) -> Result<Vec<Ranked>> {
        let Batch { texts, queries, depth } = batch;
        let vectors = self.encode(&texts.queries()[queries.clone()], Side::Query)?;
        let means: Vec<f32> =
            vectors.offsets().windows(2).map(|ends| 1.0 / (ends[1] - ends[0]).max(1) as f32).collect();
        let mut ranked: Vec<Ranked> = queries.clone().map(|query| Ranked::new(texts.positives(query).len())).collect();
        for (number, block) in texts.documents().chunks(DOCUMENTS).enumerate() {
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
            seen(first + block.len());
        }
        Ok(ranked)
    }
}

#[cfg(test)]
mod tests {
    use wb_core::Pair;

    use super::*;
    use crate::{late_interaction::tests::Letters, mining::Texts};

    #[test]
    fn blocks_of_documents_are_one_ranking() {
        let pair = |at: usize| Pair {
            id: format!("p{at}"),
            anchor: ["ab", "xyz", "mm"][at % 3].to_owned() + &"q".repeat(at / 3 % 7),
            positive: format!("{}{}", ["abab", "zyx", "mmn"][at % 3], "r".repeat(at)),
            ..Pair::default()
        };
        let pairs: Vec<Pair> = (0..DOCUMENTS + 40).map(pair).collect();
        let texts = Texts::new(&pairs, &[]).unwrap();
        let (queries, depth) = (3..texts.queries().len(), 20);
        let mut search = TokenSearch::new(&Letters, ByteSize(1 << 30)).unwrap();
        let found = search.rank(Batch { texts: &texts, queries: queries.clone(), depth }, &mut |_| ()).unwrap();
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
        assert!(TokenSearch::new(&crate::dense::tests::Letters, ByteSize(1 << 30)).is_none());
    }
}
