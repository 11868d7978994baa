//! The two sides of a batch, which a loss asks for scores and hands its gradient at those scores.

use std::{cell::RefCell, collections::HashMap};

use ndarray::{Array2, ArrayView2, s};

use crate::similarities::{
    PreparedRows, Similarity, TokenSimilarity, TokenTexts,
    tokens::{Matches, OwnMatches},
};

/// A matrix of scores, of everyone in its rows against everyone in its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Block {
    /// `[B, D]`: column `i < B` is the positive of row `i`.
    AnchorsDocuments,
    /// `[B, B]`.
    AnchorsAnchors,
    /// `[B, D]`.
    PositivesDocuments,
    /// `[B, B]`.
    PositivesPositives,
}

/// Embeddings of a batch, with the sums of the gradients at their vectors.
#[derive(Debug)]
pub struct BatchSides<'a> {
    compared: Compared<'a>,
    at_anchors: Array2<f32>,
    at_documents: Array2<f32>,
    tracked: bool,
}

#[derive(Debug)]
enum Compared<'a> {
    /// One vector a text.
    Vectors { similarity: &'a dyn Similarity, anchors: PreparedRows, documents: PreparedRows },
    /// One vector a token. What a score was made of is kept from when it was asked for until its gradient comes back.
    Tokens {
        similarity: TokenSimilarity,
        anchors: TokenTexts<'a>,
        documents: TokenTexts<'a>,
        matches: RefCell<HashMap<Block, Matches>>,
        own: RefCell<Option<OwnMatches>>,
    },
}

impl<'a> BatchSides<'a> {
    /// Embeddings of anchors `[B, dim]` and documents `[D, dim]`. Untracked, gradients are not computed.
    pub fn new(
        similarity: &'a dyn Similarity,
        anchors: ArrayView2<'_, f32>,
        documents: ArrayView2<'_, f32>,
        tracked: bool,
    ) -> Self {
        let (of_anchors, of_documents) = (similarity.prepare(anchors), similarity.prepare(documents));
        let compared = Compared::Vectors { similarity, anchors: of_anchors, documents: of_documents };
        Self::zeroed(compared, anchors.dim(), documents.dim(), tracked)
    }

    /// B anchors and D documents with one vector a token. Untracked, gradients are not computed.
    pub fn of_tokens(
        similarity: TokenSimilarity,
        anchors: TokenTexts<'a>,
        documents: TokenTexts<'a>,
        tracked: bool,
    ) -> Self {
        let (matches, own) = (RefCell::default(), RefCell::default());
        let compared = Compared::Tokens { similarity, anchors, documents, matches, own };
        Self::zeroed(compared, anchors.shape(), documents.shape(), tracked)
    }

    fn zeroed(compared: Compared<'a>, anchors: (usize, usize), documents: (usize, usize), tracked: bool) -> Self {
        let zeros = |shape| Array2::zeros(if tracked { shape } else { (0, 0) });
        Self { compared, at_anchors: zeros(anchors), at_documents: zeros(documents), tracked }
    }

    /// The vectors of the anchors, `[B, dim]`, and of the documents, `[D, dim]`, in the form that they are compared in: of
    /// length 1 for the cosine. Nothing where texts have one vector a token.
    pub fn rows(&self) -> Option<[ArrayView2<'_, f32>; 2]> {
        match &self.compared {
            Compared::Vectors { anchors, documents, .. } => Some([anchors.rows.view(), documents.rows.view()]),
            Compared::Tokens { .. } => None,
        }
    }

    /// Other vectors in the form that those of [`BatchSides::rows`] have.
    pub fn prepared(&self, rows: ArrayView2<'_, f32>) -> Array2<f32> {
        match &self.compared {
            Compared::Vectors { similarity, .. } => similarity.prepare(rows).rows,
            Compared::Tokens { .. } => rows.to_owned(),
        }
    }

    /// Takes the loss's gradient at [`BatchSides::rows`].
    pub fn add_row_gradients(&mut self, [at_anchors, at_documents]: [ArrayView2<'_, f32>; 2]) {
        if self.tracked {
            self.at_anchors += &at_anchors;
            self.at_documents += &at_documents;
        }
    }

    /// The scores of a block.
    pub fn scores(&self, block: Block) -> Array2<f32> {
        match &self.compared {
            Compared::Vectors { similarity, anchors, documents } => {
                let (left, right) = prepared_rows(block, anchors, documents);
                similarity.scores(left, right)
            }
            Compared::Tokens { similarity, anchors, documents, matches, .. } => {
                let (left, right) = sides_of(block, *anchors, *documents, documents.first(anchors.len()));
                let (scores, of_scores) = similarity.scores(left, right);
                if self.tracked {
                    matches.borrow_mut().insert(block, of_scores);
                }
                scores
            }
        }
    }

    /// Takes the loss's gradient at the scores of a block.
    pub fn add_gradient(&mut self, block: Block, at_scores: ArrayView2<'_, f32>) {
        if !self.tracked {
            return;
        }
        let (positives, found) = match &mut self.compared {
            Compared::Vectors { similarity, anchors, documents } => {
                let (left, right) = prepared_rows(block, anchors, documents);
                (anchors.rows.nrows(), similarity.backward(left, right, at_scores).into())
            }
            Compared::Tokens { similarity, anchors, documents, matches, .. } => {
                let of_positives = documents.first(anchors.len());
                let (left, right) = sides_of(block, *anchors, *documents, of_positives);
                let kept = matches.get_mut().remove(&block);
                let matches = kept.unwrap_or_else(|| similarity.scores(left, right).1);
                let found = TokenSimilarity::backward(left, right, &matches, &at_scores.to_owned());
                (of_positives.tokens(), found)
            }
        };
        self.add(block, positives, found);
    }

    /// The score of each document with its own anchor, `[D]`.
    pub fn own_scores(&self, owners: &[u32]) -> Vec<f32> {
        match &self.compared {
            Compared::Vectors { similarity, anchors, documents } => {
                similarity.own_scores(anchors.rows.view(), documents.rows.view(), owners)
            }
            Compared::Tokens { similarity, anchors, documents, own, .. } => {
                let (scores, matches) = similarity.own_scores(*anchors, *documents, owners);
                if self.tracked {
                    *own.borrow_mut() = Some(matches);
                }
                scores
            }
        }
    }

    /// Takes the loss's gradient at [`BatchSides::own_scores`].
    pub fn add_own_gradient(&mut self, owners: &[u32], at_scores: &[f32]) {
        if !self.tracked {
            return;
        }
        let found = match &mut self.compared {
            Compared::Vectors { similarity, anchors, documents } => {
                similarity.own_backward(anchors.rows.view(), documents.rows.view(), owners, at_scores).into()
            }
            Compared::Tokens { similarity, anchors, documents, own, .. } => {
                let kept = own.get_mut().take();
                let matches = kept.unwrap_or_else(|| similarity.own_scores(*anchors, *documents, owners).1);
                TokenSimilarity::own_backward(*anchors, *documents, &matches, owners, at_scores)
            }
        };
        self.add(Block::AnchorsDocuments, 0, found);
    }

    /// The gradients at the vectors as they were given, with as many rows as those; empty where untracked.
    pub fn finish(mut self) -> (Array2<f32>, Array2<f32>) {
        if let Compared::Vectors { similarity, anchors, documents } = &self.compared
            && self.tracked
        {
            similarity.unprepare(anchors, &mut self.at_anchors);
            similarity.unprepare(documents, &mut self.at_documents);
        }
        (self.at_anchors, self.at_documents)
    }

    /// Adds a block's gradients to those of the sides; the first `positives` rows of the documents are the positives'.
    fn add(&mut self, block: Block, positives: usize, [at_left, at_right]: [Array2<f32>; 2]) {
        let Self { at_anchors, at_documents, .. } = self;
        match block {
            Block::AnchorsDocuments => {
                *at_anchors += &at_left;
                *at_documents += &at_right;
            }
            Block::AnchorsAnchors => {
                *at_anchors += &at_left;
                *at_anchors += &at_right;
            }
            Block::PositivesDocuments => {
                let mut at_positives = at_documents.slice_mut(s![..positives, ..]);
                at_positives += &at_left;
                *at_documents += &at_right;
            }
            Block::PositivesPositives => {
                let mut at_positives = at_documents.slice_mut(s![..positives, ..]);
                at_positives += &at_left;
                at_positives += &at_right;
            }
        }
    }
}

/// Rows and columns of a block.
fn sides_of<T: Copy>(block: Block, anchors: T, documents: T, positives: T) -> (T, T) {
    match block {
        Block::AnchorsDocuments => (anchors, documents),
        Block::AnchorsAnchors => (anchors, anchors),
        Block::PositivesDocuments => (positives, documents),
        Block::PositivesPositives => (positives, positives),
    }
}

fn prepared_rows<'p>(
    block: Block,
    anchors: &'p PreparedRows,
    documents: &'p PreparedRows,
) -> (ArrayView2<'p, f32>, ArrayView2<'p, f32>) {
    let positives = documents.rows.slice(s![..anchors.rows.nrows(), ..]);
    sides_of(block, anchors.rows.view(), documents.rows.view(), positives)
}
