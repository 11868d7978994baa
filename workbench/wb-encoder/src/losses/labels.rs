//! Labels of a batch beside its embeddings: whose documents they are, which texts are equal,
//! what a teacher said of them, and how a guide embeds them.

use ndarray::Array2;
use wb_core::{Embeddings, Encoder, Error, Result, Side, progress::silent};

use crate::error::of_guide;

/// One pair of a batch: the numbers of its texts, equal for equal texts, and its scores.
#[derive(Debug, Clone, Copy)]
pub struct PairLabels<'a> {
    /// The anchor.
    pub anchor: u32,
    /// The positive, then its hard negatives.
    pub documents: &'a [u32],
    /// A score of the positive, then of each hard negative, as far as there are any.
    pub scores: &'a [f32],
}

/// Labels of a batch of B pairs with D documents in all.
///
/// Documents stand by column: all positives, in the pairs' order; then all first hard negatives, those of pairs
/// without any left out; then all second ones; and so on. So document `i < B` is the positive of pair `i`.
///
/// A text without a label is an anchor without documents; only losses that take such texts meet any.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    anchors: Vec<u32>,
    documents: Vec<u32>,
    owners: Vec<u32>,
    scores: Vec<Option<f32>>,
    guide: Option<GuideEmbeddings>,
}

/// A second encoder's embeddings of the same texts, for losses that ask it which negatives are none.
#[derive(Debug, Clone, PartialEq)]
pub struct GuideEmbeddings {
    /// Embeddings of the anchors, `[B, guide dim]`.
    pub anchors: Array2<f32>,
    /// Embeddings of the documents in their order, `[D, guide dim]`.
    pub documents: Array2<f32>,
}

impl GuideEmbeddings {
    /// Embeds a batch's texts; the documents in their order. The same texts in the same order have the same embeddings.
    pub fn of(guide: &dyn Encoder, anchors: &[&str], documents: &[&str]) -> Result<Self> {
        let embed = |texts: &[&str], side: Side| {
            let found = guide.encode_single_vector(texts, side, &mut silent);
            Ok(found.map_err(|error| of_guide(&guide.name(), error))?.into_inner())
        };
        Ok(Self { anchors: embed(anchors, Side::Query)?, documents: embed(documents, Side::Document)? })
    }
}

impl Labels {
    /// Puts the documents of pairs, each of which has a positive, in order by column.
    pub fn by_column(pairs: &[PairLabels<'_>]) -> Self {
        let mut labels = Self { anchors: pairs.iter().map(|pair| pair.anchor).collect(), ..Self::default() };
        let longest = pairs.iter().map(|pair| pair.documents.len()).max().unwrap_or(0);
        for rank in 0..longest {
            for (owner, pair) in pairs.iter().enumerate() {
                let Some(document) = pair.documents.get(rank) else { continue };
                labels.documents.push(*document);
                labels.owners.push(owner as u32);
                labels.scores.push(pair.scores.get(rank).copied());
            }
        }
        labels
    }

    /// Pairs whose texts are all different, each with so many hard negatives and without scores.
    pub fn distinct(pairs: usize, negatives: usize) -> Self {
        let each = 2 + negatives as u32;
        let texts: Vec<u32> = (0..pairs as u32 * each).collect();
        let pairs = texts.chunks_exact(each as usize);
        let pairs: Vec<_> =
            pairs.map(|texts| PairLabels { anchor: texts[0], documents: &texts[1..], scores: &[] }).collect();
        Self::by_column(&pairs)
    }

    /// Adds a guide's embeddings; other numbers of rows than B and D are an error.
    pub fn with_guide(mut self, guide: GuideEmbeddings) -> Result<Self> {
        let (found, expected) =
            ([guide.anchors.nrows(), guide.documents.nrows()], [self.anchors.len(), self.documents.len()]);
        if found != expected || guide.anchors.ncols() != guide.documents.ncols() {
            let message = format!(
                "{:?} for anchors and {:?} for documents, expected {} and {} rows of one length",
                guide.anchors.dim(),
                guide.documents.dim(),
                expected[0],
                expected[1]
            );
            return Err(Error::data("embeddings of the guide", message));
        }
        self.guide = Some(guide);
        Ok(self)
    }

    /// B.
    pub fn pairs(&self) -> usize {
        self.anchors.len()
    }

    /// Numbers of the anchors' texts, `[B]`.
    pub fn anchors(&self) -> &[u32] {
        &self.anchors
    }

    /// Numbers of the documents' texts, `[D]`.
    pub fn documents(&self) -> &[u32] {
        &self.documents
    }

    /// The pair that each document belongs to, `[D]`.
    pub fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// The documents' scores, `[D]`.
    pub fn scores(&self) -> &[Option<f32>] {
        &self.scores
    }

    /// A guide's embeddings, where they were given.
    pub fn guide(&self) -> Option<&GuideEmbeddings> {
        self.guide.as_ref()
    }

    /// Refuses embeddings of another batch.
    pub(super) fn check_sides(&self, anchors: &Embeddings, documents: &Embeddings) -> Result<()> {
        let (texts, dims) = ([anchors.texts(), documents.texts()], [anchors.dim(), documents.dim()]);
        if texts != [self.anchors.len(), self.documents.len()] || dims[0] != dims[1] {
            let message = format!(
                "{:?} for anchors and {:?} for documents, expected {} and {} rows of one length",
                (texts[0], dims[0]),
                (texts[1], dims[1]),
                self.anchors.len(),
                self.documents.len()
            );
            return Err(Error::data("embeddings of a batch", message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_stand_by_column_with_their_owners_and_scores() {
        let pairs = [
            PairLabels { anchor: 1, documents: &[10, 11, 12], scores: &[0.9, 0.1, 0.2] },
            PairLabels { anchor: 2, documents: &[20], scores: &[0.5] },
            PairLabels { anchor: 1, documents: &[30, 31], scores: &[] },
        ];
        let labels = Labels::by_column(&pairs);
        assert_eq!(labels.documents(), [10, 20, 30, 11, 31, 12]);
        assert_eq!(labels.owners(), [0, 1, 2, 0, 2, 0]);
        assert_eq!(labels.scores(), [Some(0.9), Some(0.5), None, Some(0.1), None, Some(0.2)]);
        assert_eq!((labels.pairs(), labels.anchors()), (3, &[1, 2, 1][..]));
        let distinct = Labels::distinct(2, 1);
        assert_eq!((distinct.documents(), distinct.owners()), (&[1, 4, 2, 5][..], &[0, 1, 0, 1][..]));
        let guide = GuideEmbeddings { anchors: Array2::zeros((2, 3)), documents: Array2::zeros((3, 3)) };
        let error = distinct.with_guide(guide).unwrap_err().to_string();
        assert!(error.ends_with("(2, 3) for anchors and (3, 3) for documents, expected 2 and 4 rows of one length"));
    }
    /// Says a text's length, and whether it stood among queries.
    struct Lengths;

    impl Encoder for Lengths {
        fn name(&self) -> String {
            "lengths".into()
        }

        fn dim(&self) -> usize {
            2
        }

        fn fingerprint(&self) -> wb_core::fingerprint::Fingerprint {
            wb_core::fingerprint::Fingerprint::of_bytes(b"lengths")
        }

        fn encode(
            &self,
            texts: &[&str],
            side: Side,
            _: &mut dyn FnMut(wb_core::Progress),
        ) -> Result<Embeddings, Box<dyn std::error::Error + Send + Sync>> {
            if texts.contains(&"bad") {
                return Err("it is bad".into());
            }
            let number = |(row, column): (usize, usize)| match column {
                0 => texts[row].len() as f32,
                _ => f32::from(u8::from(side == Side::Query)),
            };
            Ok(Embeddings::dense(Array2::from_shape_fn((texts.len(), 2), number)))
        }
    }

    #[test]
    fn a_guide_embeds_both_sides() {
        let found = GuideEmbeddings::of(&Lengths, &["a", "bb"], &["ccc", "dd", "e", ""]).unwrap();
        assert_eq!(found.anchors, ndarray::arr2(&[[1.0, 1.0], [2.0, 1.0]]));
        assert_eq!(found.documents, ndarray::arr2(&[[3.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 0.0]]));
        assert!(Labels::distinct(2, 1).with_guide(found).unwrap().guide().is_some());
        let error = GuideEmbeddings::of(&Lengths, &["bad"], &["a"]).unwrap_err().to_string();
        assert_eq!(error, "guide lengths: it is bad");
    }
}
