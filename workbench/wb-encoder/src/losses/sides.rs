//! The two sides of a batch, which a loss asks for scores and hands its gradient at those scores.

use burn::tensor::{Device, Int, Tensor, TensorData};
use ndarray::{Array2, ArrayView2, s};

use crate::similarities::{Prepared, Similarity};

/// A matrix of scores, of everyone in its rows against everyone in its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
pub struct HostSides<'a> {
    similarity: &'a dyn Similarity,
    anchors: Prepared,
    documents: Prepared,
    at_anchors: Array2<f32>,
    at_documents: Array2<f32>,
    tracked: bool,
}

impl<'a> HostSides<'a> {
    /// Embeddings of anchors `[B, dim]` and documents `[D, dim]`. Untracked, gradients are not computed.
    pub fn new(
        similarity: &'a dyn Similarity,
        anchors: ArrayView2<'_, f32>,
        documents: ArrayView2<'_, f32>,
        tracked: bool,
    ) -> Self {
        let zeros = |of: ArrayView2<'_, f32>| Array2::zeros(if tracked { of.dim() } else { (0, 0) });
        Self {
            similarity,
            anchors: similarity.prepare_host(anchors),
            documents: similarity.prepare_host(documents),
            at_anchors: zeros(anchors),
            at_documents: zeros(documents),
            tracked,
        }
    }

    /// The scores of a block.
    pub fn scores(&self, block: Block) -> Array2<f32> {
        let (left, right) = self.rows(block);
        self.similarity.scores_host(left, right)
    }

    /// Takes the loss's gradient at the scores of a block.
    pub fn add_gradient(&mut self, block: Block, at_scores: ArrayView2<'_, f32>) {
        if !self.tracked {
            return;
        }
        let (left, right) = self.rows(block);
        let (at_left, at_right) = self.similarity.backward_host(left, right, at_scores);
        let pairs = self.anchors.rows.nrows();
        match block {
            Block::AnchorsDocuments => {
                self.at_anchors += &at_left;
                self.at_documents += &at_right;
            }
            Block::AnchorsAnchors => {
                self.at_anchors += &at_left;
                self.at_anchors += &at_right;
            }
            Block::PositivesDocuments => {
                let mut positives = self.at_documents.slice_mut(s![..pairs, ..]);
                positives += &at_left;
                self.at_documents += &at_right;
            }
            Block::PositivesPositives => {
                let mut positives = self.at_documents.slice_mut(s![..pairs, ..]);
                positives += &at_left;
                positives += &at_right;
            }
        }
    }

    /// The score of each document with its own anchor, `[D]`.
    pub fn own_scores(&self, owners: &[u32]) -> Vec<f32> {
        self.similarity.own_scores_host(self.anchors.rows.view(), self.documents.rows.view(), owners)
    }

    /// Takes the loss's gradient at [`HostSides::own_scores`].
    pub fn add_own_gradient(&mut self, owners: &[u32], at_scores: &[f32]) {
        if !self.tracked {
            return;
        }
        let (anchors, documents) = (self.anchors.rows.view(), self.documents.rows.view());
        let (at_anchors, at_documents) = self.similarity.own_backward_host(anchors, documents, owners, at_scores);
        self.at_anchors += &at_anchors;
        self.at_documents += &at_documents;
    }

    /// The gradients at the embeddings as they were given, `[B, dim]` and `[D, dim]`; empty where untracked.
    pub fn finish(self) -> (Array2<f32>, Array2<f32>) {
        let Self { similarity, anchors, documents, mut at_anchors, mut at_documents, tracked } = self;
        if tracked {
            similarity.unprepare_host(&anchors, &mut at_anchors);
            similarity.unprepare_host(&documents, &mut at_documents);
        }
        (at_anchors, at_documents)
    }

    fn rows(&self, block: Block) -> (ArrayView2<'_, f32>, ArrayView2<'_, f32>) {
        let (anchors, documents) = (self.anchors.rows.view(), self.documents.rows.view());
        let positives = self.documents.rows.slice(s![..anchors.nrows(), ..]);
        match block {
            Block::AnchorsDocuments => (anchors, documents),
            Block::AnchorsAnchors => (anchors, anchors),
            Block::PositivesDocuments => (positives, documents),
            Block::PositivesPositives => (positives, positives),
        }
    }
}

/// The same in tensors, which know their gradients themselves.
#[derive(Debug)]
pub struct TensorSides<'a> {
    /// The similarity.
    pub similarity: &'a dyn Similarity,
    /// `[B, dim]`.
    pub anchors: Tensor<2>,
    /// `[D, dim]`.
    pub documents: Tensor<2>,
}

impl TensorSides<'_> {
    /// The scores of a block.
    pub fn scores(&self, block: Block) -> Tensor<2> {
        let (anchors, documents) = (self.anchors.clone(), self.documents.clone());
        let ([pairs, _], [_, dim]) = (anchors.dims(), documents.dims());
        let positives = documents.clone().slice([0..pairs, 0..dim]);
        let (left, right) = match block {
            Block::AnchorsDocuments => (anchors, documents),
            Block::AnchorsAnchors => (anchors.clone(), anchors),
            Block::PositivesDocuments => (positives, documents),
            Block::PositivesPositives => (positives.clone(), positives),
        };
        self.similarity.forward(left, right)
    }

    /// The score of each document with its own anchor, `[D]`.
    pub fn own_scores(&self, owners: &[u32]) -> Tensor<1> {
        let owners = numbers(owners.iter().map(|owner| *owner as usize), &self.device());
        self.similarity.forward_rows(self.anchors.clone().select(0, owners), self.documents.clone())
    }

    /// Where the embeddings are.
    pub fn device(&self) -> Device {
        self.documents.device()
    }
}

/// Positions as a tensor.
pub(super) fn numbers(of: impl Iterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    let values: Vec<i64> = of.map(|number| number as i64).collect();
    let count = values.len();
    Tensor::from_data(TensorData::new(values, [count]), device)
}
