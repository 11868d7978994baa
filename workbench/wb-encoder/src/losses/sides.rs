//! The two sides of a batch, which a loss asks for scores and hands its gradient at those scores.

use ndarray::{Array2, ArrayView2, s};
use wb_core::TokenEmbeddings;

use super::token_sides::TokenSides;
use crate::similarities::{Prepared, Similarity, TokenSimilarity};

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

/// Embeddings of a batch in host memory, with the sums of the gradients at them.
#[derive(Debug)]
pub struct BatchSides<'a>(Kind<'a>);

#[derive(Debug)]
enum Kind<'a> {
    /// One vector a text.
    Texts(TextSides<'a>),
    /// One vector a token.
    Tokens(TokenSides<'a>),
}

impl<'a> BatchSides<'a> {
    /// Embeddings of anchors `[B, dim]` and documents `[D, dim]`. Untracked, gradients are not computed.
    pub fn new(
        similarity: &'a dyn Similarity,
        anchors: ArrayView2<'_, f32>,
        documents: ArrayView2<'_, f32>,
        tracked: bool,
    ) -> Self {
        let zeros = |of: ArrayView2<'_, f32>| Array2::zeros(if tracked { of.dim() } else { (0, 0) });
        Self(Kind::Texts(TextSides {
            similarity,
            anchors: similarity.prepare(anchors),
            documents: similarity.prepare(documents),
            at_anchors: zeros(anchors),
            at_documents: zeros(documents),
            tracked,
        }))
    }

    /// The same of B anchors and D documents with one vector a token.
    pub fn of_tokens(
        similarity: TokenSimilarity,
        anchors: &'a TokenEmbeddings,
        documents: &'a TokenEmbeddings,
        tracked: bool,
    ) -> Self {
        Self(Kind::Tokens(TokenSides::new(similarity, anchors, documents, tracked)))
    }

    /// The scores of a block.
    pub fn scores(&self, block: Block) -> Array2<f32> {
        match &self.0 {
            Kind::Texts(sides) => sides.scores(block),
            Kind::Tokens(sides) => sides.scores(block),
        }
    }

    /// Takes the loss's gradient at the scores of a block.
    pub fn add_gradient(&mut self, block: Block, at_scores: ArrayView2<'_, f32>) {
        match &mut self.0 {
            Kind::Texts(sides) if sides.tracked => sides.add_gradient(block, at_scores),
            Kind::Tokens(sides) => sides.add_gradient(block, at_scores),
            Kind::Texts(_) => {}
        }
    }

    /// The score of each document with its own anchor, `[D]`.
    pub fn own_scores(&self, owners: &[u32]) -> Vec<f32> {
        match &self.0 {
            Kind::Texts(TextSides { similarity, anchors, documents, .. }) => {
                similarity.own_scores(anchors.rows.view(), documents.rows.view(), owners)
            }
            Kind::Tokens(sides) => sides.own_scores(owners),
        }
    }

    /// Takes the loss's gradient at [`BatchSides::own_scores`].
    pub fn add_own_gradient(&mut self, owners: &[u32], at_scores: &[f32]) {
        match &mut self.0 {
            Kind::Texts(sides) if sides.tracked => sides.add_own_gradient(owners, at_scores),
            Kind::Tokens(sides) => sides.add_own_gradient(owners, at_scores),
            Kind::Texts(_) => {}
        }
    }

    /// The gradients at the embeddings as they were given, with as many rows as those; empty where untracked.
    pub fn finish(self) -> (Array2<f32>, Array2<f32>) {
        match self.0 {
            Kind::Tokens(sides) => sides.finish(),
            Kind::Texts(TextSides { similarity, anchors, documents, mut at_anchors, mut at_documents, tracked }) => {
                if tracked {
                    similarity.unprepare(&anchors, &mut at_anchors);
                    similarity.unprepare(&documents, &mut at_documents);
                }
                (at_anchors, at_documents)
            }
        }
    }
}

#[derive(Debug)]
struct TextSides<'a> {
    similarity: &'a dyn Similarity,
    anchors: Prepared,
    documents: Prepared,
    at_anchors: Array2<f32>,
    at_documents: Array2<f32>,
    tracked: bool,
}

impl TextSides<'_> {
    fn scores(&self, block: Block) -> Array2<f32> {
        let (left, right) = self.rows(block);
        self.similarity.scores(left, right)
    }

    fn add_gradient(&mut self, block: Block, at_scores: ArrayView2<'_, f32>) {
        let (left, right) = self.rows(block);
        let (at_left, at_right) = self.similarity.backward(left, right, at_scores);
        let pairs = self.anchors.rows.nrows();
        add_to_sides(block, &mut self.at_anchors, &mut self.at_documents, pairs, [at_left, at_right]);
    }

    fn add_own_gradient(&mut self, owners: &[u32], at_scores: &[f32]) {
        let (anchors, documents) = (self.anchors.rows.view(), self.documents.rows.view());
        let (at_anchors, at_documents) = self.similarity.own_backward(anchors, documents, owners, at_scores);
        self.at_anchors += &at_anchors;
        self.at_documents += &at_documents;
    }

    fn rows(&self, block: Block) -> (ArrayView2<'_, f32>, ArrayView2<'_, f32>) {
        let (anchors, documents) = (self.anchors.rows.view(), self.documents.rows.view());
        let positives = self.documents.rows.slice(s![..anchors.nrows(), ..]);
        sides_of(block, anchors, documents, positives)
    }
}

/// Adds a block's gradients to those of the sides; the first `positives` rows of the documents are the positives'.
pub(super) fn add_to_sides(
    block: Block,
    at_anchors: &mut Array2<f32>,
    at_documents: &mut Array2<f32>,
    positives: usize,
    [at_left, at_right]: [Array2<f32>; 2],
) {
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

/// Rows and columns of a block.
pub(super) fn sides_of<T: Clone>(block: Block, anchors: T, documents: T, positives: T) -> (T, T) {
    match block {
        Block::AnchorsDocuments => (anchors, documents),
        Block::AnchorsAnchors => (anchors.clone(), anchors),
        Block::PositivesDocuments => (positives, documents),
        Block::PositivesPositives => (positives.clone(), positives),
    }
}
