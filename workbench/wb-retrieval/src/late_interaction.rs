//! A corpus of texts with one vector a token, searched exactly by MaxSim.

use ndarray::Array2;
use rayon::prelude::*;
use wb_core::{Encoder, Progress, Ranking, Side, TokenEmbeddings, TokenEncoder, fingerprint::Fingerprint};

use crate::{
    Error, Result, Retriever,
    maxsim::{check, max_sim},
    retriever::block_of,
    top_k::top_k,
};

/// An encoder of one vector a token and a corpus that it encoded. Memory: 4 bytes for each number of each token.
pub struct LateInteraction<'a> {
    name: String,
    encoder: &'a dyn TokenEncoder,
    documents: TokenEmbeddings,
    fingerprint: Fingerprint,
}

impl<'a> LateInteraction<'a> {
    /// Encodes documents in the order given. An encoder of one vector a text is an error.
    pub fn new(encoder: &'a dyn Encoder, documents: &[&str], progress: &mut dyn FnMut(Progress)) -> Result<Self> {
        let name = encoder.name();
        let Some(tokens) = encoder.late_interaction() else {
            return Err(wb_core::Error::data(name, "gives one vector a text, expected one a token").into());
        };
        let mut fingerprint = Fingerprint::builder();
        fingerprint.text("late interaction").text(encoder.fingerprint().as_str());
        documents.iter().for_each(|document| {
            fingerprint.text(document);
        });
        let documents = encode_tokens(&name, tokens, documents, Side::Document, progress)?;
        Ok(Self { name, encoder: tokens, documents, fingerprint: fingerprint.finish() })
    }
}

/// Encodes texts and checks that every text got its vectors, of finite numbers.
pub fn encode_tokens(
    name: &str,
    encoder: &dyn TokenEncoder,
    texts: &[&str],
    side: Side,
    progress: &mut dyn FnMut(Progress),
) -> Result<TokenEmbeddings> {
    let found = encoder.encode_tokens(texts, side, progress);
    let found = found.map_err(|source| Error::Encoder { what: side.plural(), encoder: name.to_owned(), source })?;
    if found.len() != texts.len() {
        return Err(Error::Lengths { what: "token embeddings and texts", given: found.len(), expected: texts.len() });
    }
    check(side.as_str(), found.view())?;
    Ok(found)
}

impl Retriever for LateInteraction<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint.clone()
    }

    fn n_documents(&self) -> usize {
        self.documents.len()
    }

    fn scores(&self, queries: &[&str], progress: &mut dyn FnMut(Progress)) -> Result<Array2<f32>> {
        max_sim(&encode_tokens(&self.name, self.encoder, queries, Side::Query, progress)?, &self.documents)
    }

    fn rank(&self, queries: &[&str], k: usize, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Ranking>> {
        rank(&encode_tokens(&self.name, self.encoder, queries, Side::Query, progress)?, &self.documents, k)
    }
}

/// The best `k` documents for each query by MaxSim, best first, ties by position. Queries go in blocks whose scores
/// fit 256 MiB.
pub fn rank(queries: &TokenEmbeddings, documents: &TokenEmbeddings, k: usize) -> Result<Vec<Ranking>> {
    if documents.is_empty() {
        return Ok((0..queries.len()).map(|query| Ranking { query, hits: Vec::new() }).collect());
    }
    let mut rankings = Vec::with_capacity(queries.len());
    let block = block_of(documents.len());
    for first in (0..queries.len()).step_by(block) {
        let scores = max_sim(&queries.part(first..(first + block).min(queries.len())), documents)?;
        let rows = scores.as_slice().unwrap_or_default().par_chunks(documents.len()).enumerate();
        rankings.par_extend(rows.map(|(at, row)| Ranking { query: first + at, hits: top_k(row, k) }));
    }
    Ok(rankings)
}

#[cfg(test)]
pub(crate) mod tests {
    use wb_core::{Embeddings, progress::silent};

    use super::*;

    /// Each letter a token: its own direction, and a little of the next letter's.
    pub(crate) struct Letters;

    impl Encoder for Letters {
        fn name(&self) -> String {
            "letters".into()
        }

        fn dim(&self) -> usize {
            26
        }

        fn fingerprint(&self) -> Fingerprint {
            Fingerprint::of_bytes(b"token letters")
        }

        fn encode(
            &self,
            _: &[&str],
            _: Side,
            _: &mut dyn FnMut(Progress),
        ) -> std::result::Result<Embeddings, Box<dyn std::error::Error + Send + Sync>> {
            Err("one vector a token".into())
        }

        fn late_interaction(&self) -> Option<&dyn TokenEncoder> {
            Some(self)
        }
    }

    impl TokenEncoder for Letters {
        fn encode_tokens(
            &self,
            texts: &[&str],
            _: Side,
            _: &mut dyn FnMut(Progress),
        ) -> std::result::Result<TokenEmbeddings, Box<dyn std::error::Error + Send + Sync>> {
            let letters: Vec<usize> =
                texts.concat().bytes().filter(u8::is_ascii_lowercase).map(|b| usize::from(b - b'a')).collect();
            let ends = texts.iter().scan(0, |end, text| {
                *end += text.bytes().filter(u8::is_ascii_lowercase).count();
                Some(*end)
            });
            let offsets = std::iter::once(0).chain(ends).collect();
            let vectors = Array2::from_shape_fn((letters.len(), 26), |(row, column)| match column {
                column if column == letters[row] => 0.8,
                column if column == (letters[row] + 1) % 26 => 0.6,
                _ => 0.0,
            });
            Ok(TokenEmbeddings::new(vectors, offsets)?)
        }
    }

    #[test]
    fn texts_find_their_like_token_by_token() {
        let index = LateInteraction::new(&Letters, &["abc", "xyz", "", "aab"], &mut silent).unwrap();
        let rankings = index.rank(&["ba", "zz"], 2, &mut silent).unwrap();
        assert_eq!(rankings[0].hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(rankings[1].hits[0].document, 1);
        let scores = index.scores(&["ba", "zz"], &mut silent).unwrap();
        // Twice the letter itself; `z` is also near `a`.
        assert!((scores[[0, 0]] - 2.0).abs() < 1e-6 && (scores[[1, 0]] - 0.96).abs() < 1e-6, "{scores}");
        assert_eq!(scores[[0, 2]], -2.0);
        assert_eq!(scores[[0, 3]], rankings[0].hits[1].score);
        let dense = crate::dense::tests::Letters;
        assert!(LateInteraction::new(&dense, &["a"], &mut silent).is_err());
    }
}
