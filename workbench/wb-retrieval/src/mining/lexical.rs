//! Candidates by their words: whatever scores a whole corpus for a text, BM25 above all.

use rayon::prelude::*;
use wb_core::progress::silent;

use super::{Batch, ByteSize, CandidateSource, RankedQuery, Seen};
use crate::{Result, Retriever, error::unlike_lengths, top_k};

/// Ranks documents by a retriever's scores. A document without a score above 0 shares no word with the query, and is no
/// candidate.
pub struct LexicalSearch<'a> {
    retriever: &'a dyn Retriever,
    at_once: usize,
}

impl<'a> LexicalSearch<'a> {
    /// Takes a retriever of the texts' documents. An eighth of `ram` holds scores; its index comes on top.
    pub fn new(retriever: &'a dyn Retriever, ram: ByteSize) -> Self {
        let a_query = 4 * retriever.n_documents().max(1) as u64;
        let at_once = (ram.0 / 8 / a_query).clamp(1, 4096) as usize;
        Self { retriever, at_once }
    }
}

impl CandidateSource for LexicalSearch<'_> {
    fn at_once(&self) -> usize {
        self.at_once
    }

    fn rank(&mut self, batch: Batch<'_, '_>, seen: Seen<'_>) -> Result<Vec<RankedQuery>> {
        let Batch { texts, queries, depth } = batch;
        let (given, expected) = (self.retriever.n_documents(), texts.documents().len());
        if given != expected {
            return Err(unlike_lengths("documents of the retriever and of the texts", given, expected));
        }
        let scores = self.retriever.scores(&texts.queries()[queries.clone()], &mut silent)?;
        seen(expected)?;
        let rows = scores.as_slice().unwrap_or_default();
        let ranked = queries.into_par_iter().zip(rows.par_chunks(expected.max(1))).map(|(query, row)| {
            let hits = top_k::top_k(row, depth).into_iter().filter(|hit| hit.score > 0.0);
            let hits = hits.map(|hit| (hit.document as u32, hit.score));
            RankedQuery::from_scores(
                hits,
                texts.positives(query).iter().map(|document| row[*document as usize]).collect(),
            )
        });
        Ok(ranked.collect())
    }
}

#[cfg(test)]
mod tests {
    use wb_core::progress::silent;

    use super::*;
    use crate::{
        Bm25Config,
        mining::{MiningTexts, texts::tests::pair},
    };

    #[test]
    fn documents_without_a_common_word_are_no_candidates() {
        let pairs = [
            pair("a", "read a file", "fn read_file()"),
            pair("b", "close the file", "fn close_file()"),
            pair("c", "draw", "fn circle()"),
        ];
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let bm25 = Bm25Config::default().init(texts.documents(), &mut silent).unwrap();
        let mut search = LexicalSearch::new(&bm25, ByteSize(1 << 30));
        let ranked = search.rank(Batch { texts: &texts, queries: 0..3, depth: 10 }, &mut |_| Ok(())).unwrap();
        let documents = |at: usize| ranked[at].candidates().iter().map(|c| c.document).collect::<Vec<_>>();
        assert_eq!((documents(0), documents(1), documents(2)), (vec![0, 1], vec![1, 0], vec![]));
        assert_eq!(ranked[0].positives[0], ranked[0].candidates()[0].score);
        assert_eq!(ranked[2].positives, [0.0]);
    }
}
