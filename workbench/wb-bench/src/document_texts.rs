//! An encoder that embeds other texts for a document than its own: what was said of it, in its place or beside it.
//!
//! A document of several texts has a vector for each and is scored by the best of them: MaxSim with one vector for the
//! query is just that. So every benchmark, and mining, takes such documents as it takes those of late interaction.

use ndarray::Array2;
use wb_core::{
    Embeddings, Encoder, GroupMaxima, Interaction, Progress, Side, encoder::EncodeError, fingerprint::Fingerprint,
};

use crate::Result;

/// The texts of a document.
type View<'a> = Box<dyn Fn(&str) -> Vec<String> + 'a>;

/// An encoder with other texts for documents; queries are embedded as they are.
pub struct DocumentTexts<'a> {
    encoder: &'a dyn Encoder,
    name: String,
    fingerprint: Fingerprint,
    texts: View<'a>,
    several: bool,
}

impl<'a> DocumentTexts<'a> {
    /// `texts` gives the texts of a document, at least one; where `several` is not set, exactly one. `what` names them,
    /// and `fingerprint` stands for everything that decides them.
    ///
    /// Several texts of an encoder of one vector a token are an error: the best of two sums is no MaxSim.
    pub fn new(
        encoder: &'a dyn Encoder,
        what: &str,
        fingerprint: &Fingerprint,
        several: bool,
        texts: impl Fn(&str) -> Vec<String> + 'a,
    ) -> Result<Self> {
        if several && encoder.interaction() == Interaction::MaxSim {
            let message = "gives one vector a token, and several texts of a document need one vector a text";
            return Err(
                wb_core::Error::data(encoder.name(), message).with_hint("embed: concat joins the texts of a document")
            );
        }
        let mut all = Fingerprint::builder();
        all.text("documents").text(encoder.fingerprint().as_str()).text(what).text(fingerprint.as_str());
        Ok(Self { encoder, name: encoder.name(), fingerprint: all.finish(), texts: Box::new(texts), several })
    }

    /// Sets another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The texts of all documents, and where each document's begin, with the end.
    fn views(&self, documents: &[&str]) -> (Vec<String>, Vec<usize>) {
        let (mut all, mut offsets) = (Vec::new(), vec![0]);
        for document in documents {
            all.extend((self.texts)(document));
            offsets.push(all.len());
        }
        (all, offsets)
    }
}

impl Encoder for DocumentTexts<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn dim(&self) -> usize {
        self.encoder.dim()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint.clone()
    }

    fn interaction(&self) -> Interaction {
        if self.several { Interaction::MaxSim } else { self.encoder.interaction() }
    }

    fn group_maxima(&self) -> Option<Box<dyn GroupMaxima>> {
        self.encoder.group_maxima()
    }

    fn encode(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> std::result::Result<Embeddings, EncodeError> {
        if side == Side::Query {
            let found = self.encoder.encode(texts, side, progress)?;
            return Ok(if self.several { found.normalized() } else { found });
        }
        let (views, offsets) = self.views(texts);
        if !self.several {
            if offsets.windows(2).any(|ends| ends[1] - ends[0] != 1) {
                return Err("a document of several texts has several vectors".into());
            }
            return self.encoder.encode(&as_strs(&views), side, progress);
        }
        if views.is_empty() {
            return Ok(Embeddings::ragged(Array2::zeros((0, self.dim())), offsets)?);
        }
        let vectors = self.encoder.encode(&as_strs(&views), side, progress)?.normalized().into_inner();
        Ok(Embeddings::ragged(vectors, offsets)?)
    }
}

fn as_strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::{
        contestant::{BenchContestant, Chosen},
        texts::BenchmarkTexts,
    };

    /// Counts of the letters a, b and c.
    struct Letters;

    impl Encoder for Letters {
        fn name(&self) -> String {
            "letters".into()
        }

        fn dim(&self) -> usize {
            3
        }

        fn fingerprint(&self) -> Fingerprint {
            Fingerprint::of_bytes(b"letters")
        }

        fn encode(
            &self,
            texts: &[&str],
            _: Side,
            _: &mut dyn FnMut(Progress),
        ) -> std::result::Result<Embeddings, EncodeError> {
            let count = |text: &str, letter: char| text.chars().filter(|c| *c == letter).count() as f32;
            let rows = Array2::from_shape_fn((texts.len(), 3), |(at, of)| count(texts[at], ['a', 'b', 'c'][of]));
            Ok(Embeddings::dense(rows))
        }
    }

    fn scores(encoder: &dyn Encoder) -> Vec<Vec<f32>> {
        let mut texts = BenchmarkTexts::default();
        let queries: Vec<u32> = ["a", "b"].iter().map(|text| texts.queries.number(text)).collect();
        let documents: Vec<u32> = ["aac", "c"].iter().map(|text| texts.documents.number(text)).collect();
        let scorer = BenchContestant::Encoder(encoder).prepare(&texts, &mut |_| ()).unwrap();
        let chosen = |side, numbers| Chosen { side, numbers };
        scorer
            .scores(chosen(Side::Query, &queries), chosen(Side::Document, &documents), |_, scores| scores.to_vec())
            .unwrap()
    }

    #[test]
    fn the_better_of_two_texts_counts_whatever_is_searched() {
        let said = |text: &str| match text {
            "aac" => "b".to_owned(),
            other => other.to_owned(),
        };
        let none = Fingerprint::of_bytes(b"");
        let near = |found: Vec<Vec<f32>>, expected: [[f32; 2]; 2]| {
            for (row, expected) in found.iter().zip(expected) {
                assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}, {expected:?}");
            }
        };
        let code = 2.0 / 5f32.sqrt();
        near(scores(&Letters), [[code, 0.0], [0.0, 0.0]]);
        let annotation = DocumentTexts::new(&Letters, "annotation", &none, false, |text| vec![said(text)]).unwrap();
        near(scores(&annotation), [[0.0, 0.0], [1.0, 0.0]]);
        let views = |text: &str| vec![text.to_owned(), said(text)];
        let both = DocumentTexts::new(&Letters, "both", &none, true, views).unwrap();
        near(scores(&both), [[code, 0.0], [1.0, 0.0]]);
        assert_eq!((both.name().as_str(), both.dim()), ("letters", 3));
        assert_ne!(both.fingerprint(), annotation.fingerprint());
        // One text where several were not spoken of.
        let wrong = DocumentTexts::new(&Letters, "both", &none, false, views).unwrap();
        assert!(wrong.encode(&["aac"], Side::Document, &mut |_| ()).is_err());
        // Late interaction of late interaction.
        let refused = DocumentTexts::new(&both, "both", &none, true, views).err().unwrap().to_string();
        assert!(refused.contains("letters: gives one vector a token"), "{refused}");
    }
}
