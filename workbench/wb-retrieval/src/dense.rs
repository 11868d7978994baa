//! Encode, index, search: the retriever under test.

use ndarray::Array2;
use wb_core::{Embeddings, Encoder, Progress, Ranking, Side, fingerprint::Fingerprint};

use crate::{Error, Index, IndexConfig, Result, Retriever};

/// An encoder and the index of a corpus that it encoded.
pub struct Dense<'a> {
    encoder: &'a dyn Encoder,
    index: Box<dyn Index + Send + Sync>,
    fingerprint: Fingerprint,
}

impl<'a> Dense<'a> {
    /// Encodes documents in the order given and indexes them. Vectors are compared as the encoder makes them
    /// (inner product), so an encoder that is meant for cosine normalizes.
    pub fn new(
        encoder: &'a dyn Encoder,
        index: &IndexConfig,
        documents: &[&str],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self> {
        let vectors = encode(encoder, documents, Side::Document, progress)?;
        let mut fingerprint = Fingerprint::builder();
        fingerprint.text("dense").text(encoder.fingerprint().as_str()).text(Fingerprint::of_json(index).as_str());
        for document in documents {
            fingerprint.text(document);
        }
        Ok(Self { encoder, index: index.init(vectors)?, fingerprint: fingerprint.finish() })
    }

    /// The index, for callers that have query vectors already.
    pub fn index(&self) -> &dyn Index {
        &*self.index
    }
}

/// Encodes texts and checks that every text got its vector.
fn encode(encoder: &dyn Encoder, texts: &[&str], side: Side, progress: &mut dyn FnMut(Progress)) -> Result<Embeddings> {
    let vectors = encoder.encode(texts, side, progress).map_err(|source| Error::Encoder {
        what: side.plural(),
        encoder: encoder.name(),
        source,
    })?;
    if vectors.len() != texts.len() {
        return Err(Error::Lengths { what: "vectors and texts", given: vectors.len(), expected: texts.len() });
    }
    Ok(vectors)
}

impl Retriever for Dense<'_> {
    fn name(&self) -> String {
        self.encoder.name()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint.clone()
    }

    fn n_documents(&self) -> usize {
        self.index.len()
    }

    fn scores(&self, queries: &[&str], progress: &mut dyn FnMut(Progress)) -> Result<Array2<f32>> {
        self.index.scores(&encode(self.encoder, queries, Side::Query, progress)?)
    }

    fn rank(&self, queries: &[&str], k: usize, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Ranking>> {
        self.index.search(&encode(self.encoder, queries, Side::Query, progress)?, k)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use wb_core::progress::silent;

    use super::*;

    /// Counts letters: `[a, b, c, ...]`, normalized.
    pub(crate) struct Letters;

    impl Encoder for Letters {
        fn name(&self) -> String {
            "letters".into()
        }

        fn dim(&self) -> usize {
            26
        }

        fn fingerprint(&self) -> Fingerprint {
            Fingerprint::of_bytes(b"letters")
        }

        fn encode(
            &self,
            texts: &[&str],
            _: Side,
            _: &mut dyn FnMut(Progress),
        ) -> std::result::Result<Embeddings, Box<dyn std::error::Error + Send + Sync>> {
            let mut vectors = Array2::zeros((texts.len(), 26));
            for (row, text) in texts.iter().enumerate() {
                for letter in text.bytes().filter(u8::is_ascii_lowercase) {
                    vectors[[row, usize::from(letter - b'a')]] += 1.0;
                }
            }
            Ok(Embeddings::dense(vectors).normalized())
        }
    }

    #[test]
    fn texts_find_their_like() {
        let dense = Dense::new(&Letters, &IndexConfig::default(), &["abc", "xyz", "", "aab"], &mut silent).unwrap();
        let rankings = dense.rank(&["ba", "zzz"], 2, &mut silent).unwrap();
        assert_eq!(rankings[0].hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), [3, 0]);
        assert_eq!(rankings[1].hits[0].document, 1);
        let scores = dense.scores(&["ba", "zzz"], &mut silent).unwrap();
        assert_eq!(scores.dim(), (2, 4));
        assert_eq!(scores[[0, 3]], rankings[0].hits[0].score);
        assert_eq!(scores[[0, 2]], 0.0);
        let other = Dense::new(&Letters, &IndexConfig::default(), &["abc"], &mut silent).unwrap();
        assert_ne!(other.fingerprint(), dense.fingerprint());
    }
}
