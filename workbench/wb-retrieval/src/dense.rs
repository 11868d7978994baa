//! Encode, index, search: the retriever under test.

use ndarray::Array2;
use wb_core::{Embeddings, Encoder, Progress, Ranking, Side, fingerprint::Fingerprint};

use crate::{
    Flat, Result, Retriever,
    error::{cannot_encode, unlike_lengths},
    maxsim::check,
};

/// An encoder and the documents that it encoded, searched exactly.
pub struct DenseRetriever<'a> {
    encoder: &'a dyn Encoder,
    documents: Flat,
    fingerprint: Fingerprint,
}

impl<'a> DenseRetriever<'a> {
    /// Encodes documents in the order given. One vector a text is compared as the encoder makes it (inner product), so
    /// an encoder that is meant for cosine normalizes; one vector a token by MaxSim.
    pub fn new(encoder: &'a dyn Encoder, documents: &[&str], progress: &mut dyn FnMut(Progress)) -> Result<Self> {
        let vectors = encode(encoder, documents, Side::Document, progress)?;
        let mut fingerprint = Fingerprint::builder();
        fingerprint.text("dense").text(encoder.fingerprint().as_str());
        for document in documents {
            fingerprint.text(document);
        }
        Ok(Self { encoder, documents: Flat::new(vectors)?, fingerprint: fingerprint.finish() })
    }
}

/// Encodes texts and checks that every text got its vector, or its vectors of finite numbers.
pub fn encode(
    encoder: &dyn Encoder,
    texts: &[&str],
    side: Side,
    progress: &mut dyn FnMut(Progress),
) -> Result<Embeddings> {
    let found = encoder.encode(texts, side, progress);
    let found = found.map_err(|source| cannot_encode(side.plural(), &encoder.name(), source))?;
    if found.texts() != texts.len() {
        return Err(unlike_lengths("embeddings and texts", found.texts(), texts.len()));
    }
    if found.offsets().is_some() {
        check(side.as_str(), found.view())?;
    }
    Ok(found)
}

impl Retriever for DenseRetriever<'_> {
    fn name(&self) -> String {
        self.encoder.name()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint.clone()
    }

    fn n_documents(&self) -> usize {
        self.documents.len()
    }

    fn scores(&self, queries: &[&str], progress: &mut dyn FnMut(Progress)) -> Result<Array2<f32>> {
        self.documents.scores(&encode(self.encoder, queries, Side::Query, progress)?)
    }

    fn rank(&self, queries: &[&str], k: usize, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Ranking>> {
        let queries = encode(self.encoder, queries, Side::Query, progress)?;
        self.documents.search_with(self.encoder.group_maxima(), &queries, k)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use wb_core::{Interaction, encoder::EncodeError, progress::silent};

    use super::*;

    /// An encoder out of a function.
    pub(crate) struct Made<F> {
        pub name: &'static str,
        pub dim: usize,
        pub interaction: Interaction,
        pub encode: F,
    }

    pub(crate) type Encoded = std::result::Result<Embeddings, EncodeError>;

    impl<F: Fn(&[&str], Side) -> Encoded> Made<F> {
        /// One vector of two numbers a text.
        pub(crate) fn of_two_numbers(name: &'static str, encode: F) -> Self {
            Self { name, dim: 2, interaction: Interaction::InnerProduct, encode }
        }
    }

    impl<F: Fn(&[&str], Side) -> Encoded> Encoder for Made<F> {
        fn name(&self) -> String {
            self.name.to_owned()
        }

        fn dim(&self) -> usize {
            self.dim
        }

        fn fingerprint(&self) -> Fingerprint {
            Fingerprint::of_bytes(self.name.as_bytes())
        }

        fn interaction(&self) -> Interaction {
            self.interaction
        }

        fn encode(&self, texts: &[&str], side: Side, _: &mut dyn FnMut(Progress)) -> Encoded {
            (self.encode)(texts, side)
        }
    }

    type OfLetters = Made<fn(&[&str], Side) -> Encoded>;

    /// Counts letters: `[a, b, c, ...]`, normalized.
    pub(crate) const LETTERS: OfLetters =
        Made { name: "letters", dim: 26, interaction: Interaction::InnerProduct, encode: count_letters };

    /// Each letter a token: its own direction, and a little of the next letter's.
    pub(crate) const LETTER_TOKENS: OfLetters =
        Made { name: "token letters", dim: 26, interaction: Interaction::MaxSim, encode: encode_letters };

    fn count_letters(texts: &[&str], _: Side) -> Encoded {
        let mut vectors = Array2::zeros((texts.len(), 26));
        for (row, text) in texts.iter().enumerate() {
            for letter in text.bytes().filter(u8::is_ascii_lowercase) {
                vectors[[row, usize::from(letter - b'a')]] += 1.0;
            }
        }
        Ok(Embeddings::dense(vectors).normalized())
    }

    fn encode_letters(texts: &[&str], _: Side) -> Encoded {
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
        Ok(Embeddings::ragged(vectors, offsets)?)
    }

    #[test]
    fn texts_find_their_like() {
        let dense = DenseRetriever::new(&LETTERS, &["abc", "xyz", "", "aab"], &mut silent).unwrap();
        let rankings = dense.rank(&["ba", "zzz"], 2, &mut silent).unwrap();
        assert_eq!(rankings[0].hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), [3, 0]);
        assert_eq!(rankings[1].hits[0].document, 1);
        let scores = dense.scores(&["ba", "zzz"], &mut silent).unwrap();
        assert_eq!(scores.dim(), (2, 4));
        assert_eq!(scores[[0, 3]], rankings[0].hits[0].score);
        assert_eq!(scores[[0, 2]], 0.0);
        let other = DenseRetriever::new(&LETTERS, &["abc"], &mut silent).unwrap();
        assert_ne!(other.fingerprint(), dense.fingerprint());
    }

    #[test]
    fn texts_find_their_like_token_by_token() {
        let retriever = DenseRetriever::new(&LETTER_TOKENS, &["abc", "xyz", "", "aab"], &mut silent).unwrap();
        let rankings = retriever.rank(&["ba", "zz"], 2, &mut silent).unwrap();
        assert_eq!(rankings[0].hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(rankings[1].hits[0].document, 1);
        let scores = retriever.scores(&["ba", "zz"], &mut silent).unwrap();
        // Twice the letter itself; `z` is also near `a`.
        assert!((scores[[0, 0]] - 2.0).abs() < 1e-6 && (scores[[1, 0]] - 0.96).abs() < 1e-6, "{scores}");
        assert_eq!(scores[[0, 2]], -2.0);
        assert_eq!(scores[[0, 3]], rankings[0].hits[1].score);
        let refused = LETTER_TOKENS.encode_single_vector(&["a"], Side::Query, &mut silent).unwrap_err().to_string();
        assert_eq!(refused, "token letters: gives one vector a token, and one a text is wanted here");
    }
}
