//! The sides of a batch with one vector a token, in host memory.

use std::{cell::RefCell, collections::HashMap};

use ndarray::{Array2, ArrayView2};
use wb_core::TokenEmbeddings;

use super::sides::{Block, add_to_sides, sides_of};
use crate::similarities::{
    TokenSimilarity, TokenTexts,
    tokens::{Matches, OwnMatches},
};

/// Token embeddings of a batch, with the sums of the gradients at them.
///
/// What a score was made of is kept from when it was asked for until its gradient comes back.
#[derive(Debug)]
pub(super) struct TokenSides<'a> {
    similarity: TokenSimilarity,
    anchors: TokenTexts<'a>,
    documents: TokenTexts<'a>,
    /// How many tokens the positives have.
    positive_tokens: usize,
    at_anchors: Array2<f32>,
    at_documents: Array2<f32>,
    tracked: bool,
    matches: RefCell<HashMap<Block, Matches>>,
    own: RefCell<Option<OwnMatches>>,
}

impl<'a> TokenSides<'a> {
    pub fn new(
        similarity: TokenSimilarity,
        anchors: &'a TokenEmbeddings,
        documents: &'a TokenEmbeddings,
        tracked: bool,
    ) -> Self {
        let zeros = |of: &TokenEmbeddings| Array2::zeros(if tracked { of.view().dim() } else { (0, 0) });
        Self {
            similarity,
            positive_tokens: documents.offsets()[anchors.len()],
            at_anchors: zeros(anchors),
            at_documents: zeros(documents),
            anchors: anchors.into(),
            documents: documents.into(),
            tracked,
            matches: RefCell::default(),
            own: RefCell::default(),
        }
    }

    fn texts(&self, block: Block) -> (TokenTexts<'a>, TokenTexts<'a>) {
        sides_of(block, self.anchors, self.documents, self.documents.first(self.anchors.len()))
    }

    pub fn scores(&self, block: Block) -> Array2<f32> {
        let (left, right) = self.texts(block);
        let (scores, matches) = self.similarity.scores(left, right);
        if self.tracked {
            self.matches.borrow_mut().insert(block, matches);
        }
        scores
    }

    pub fn add_gradient(&mut self, block: Block, at_scores: ArrayView2<'_, f32>) {
        if !self.tracked {
            return;
        }
        let (left, right) = self.texts(block);
        let kept = self.matches.get_mut().remove(&block);
        let matches = kept.unwrap_or_else(|| self.similarity.scores(left, right).1);
        let found = TokenSimilarity::backward(left, right, &matches, &at_scores.to_owned());
        add_to_sides(block, &mut self.at_anchors, &mut self.at_documents, self.positive_tokens, found);
    }

    pub fn own_scores(&self, owners: &[u32]) -> Vec<f32> {
        let (scores, matches) = self.similarity.own_scores(self.anchors, self.documents, owners);
        if self.tracked {
            *self.own.borrow_mut() = Some(matches);
        }
        scores
    }

    pub fn add_own_gradient(&mut self, owners: &[u32], at_scores: &[f32]) {
        if !self.tracked {
            return;
        }
        let (anchors, documents) = (self.anchors, self.documents);
        let kept = self.own.get_mut().take();
        let matches = kept.unwrap_or_else(|| self.similarity.own_scores(anchors, documents, owners).1);
        let found = TokenSimilarity::own_backward(anchors, documents, &matches, owners, at_scores);
        add_to_sides(Block::AnchorsDocuments, &mut self.at_anchors, &mut self.at_documents, 0, found);
    }

    pub fn finish(self) -> (Array2<f32>, Array2<f32>) {
        (self.at_anchors, self.at_documents)
    }
}
