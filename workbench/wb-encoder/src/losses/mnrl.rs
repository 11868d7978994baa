//! Multiple Negatives Ranking Loss: pick the own positive among all documents of the batch.

use burn::tensor::{Tensor, TensorData};
use ndarray::{Array2, ArrayView2, s};

use super::{
    blocked::Blocked,
    labels::Labels,
    loss::{Loss, Needs},
    mnrl_config::{Direction, Hardness, MnrlConfig, Partition},
    sides::{Block, HostSides, TensorSides},
    softmax::{pick_own, pick_own_jointly, pick_own_on},
};

/// Multiple Negatives Ranking Loss, ready to use.
///
/// With z = scale·s and the candidates C_i of pair `i`: mean over pairs of −z_ii + log Σ_{c ∈ C_i} exp z_c, where z_ii is
/// the score of anchor and own positive. Directions add candidates: `query_to_doc` the anchor against all documents,
/// `query_to_query` against the other anchors, `doc_to_query` the positive against all anchors, and `doc_to_doc` against
/// all documents that are not its own anchor's. Hardness α adds α·s to the logits of some negatives of `query_to_doc`,
/// without a gradient. With the partition `per_direction` the sum is made for each direction, and the losses averaged.
///
/// # Shapes
/// Scores are `[B, D]`, `[B, B]`, `[B, B]` and `[B, D]`, B pairs with D documents, any number of them hard negatives.
///
/// Henderson et al. 2017, "Efficient Natural Language Response Suggestion for Smart Reply"; van den Oord et al. 2018;
/// both directions: Günther et al. 2023, arXiv 2310.19923; all four in one sum: Li et al. 2023, arXiv 2308.03281.
/// Equals sentence-transformers' `MultipleNegativesRankingLoss`, with `partition_mode`, `hardness_mode` and
/// `hardness_strength`. Masked duplicates are ours.
#[derive(Debug, Clone)]
pub struct Mnrl {
    config: MnrlConfig,
}

impl MnrlConfig {
    /// The loss, ready to use.
    pub fn init(&self) -> Mnrl {
        Mnrl { config: self.clone() }
    }
}

impl Loss for Mnrl {
    fn needs(&self) -> Needs {
        Needs { loss: "mnrl", in_batch: true, ..Needs::default() }
    }

    fn forward(&self, sides: &TensorSides<'_>, labels: &Labels) -> Tensor<1> {
        let scores = sides.scores(Block::AnchorsDocuments);
        let logits: Vec<Tensor<2>> = self
            .config
            .directions
            .iter()
            .map(|direction| match block_of(*direction) {
                Some(Block::AnchorsDocuments) => {
                    let logits = self.harder_on(scores.clone(), labels);
                    self.blocked(*direction, labels).apply_on(logits)
                }
                Some(block) => {
                    let logits = sides.scores(block).mul_scalar(self.config.scale());
                    self.blocked(*direction, labels).apply_on(logits)
                }
                None => {
                    let back = scores.clone().slice([0..labels.pairs(), 0..labels.pairs()]).transpose();
                    self.blocked(*direction, labels).apply_on(back.mul_scalar(self.config.scale()))
                }
            })
            .collect();
        match self.config.partition {
            Partition::Joint => pick_own_on(Tensor::cat(self.own_first(logits), 1)),
            Partition::PerDirection => {
                let count = logits.len() as f64;
                Tensor::cat(logits.into_iter().map(pick_own_on).collect(), 0).sum().div_scalar(count)
            }
        }
    }

    fn forward_backward_host(&self, sides: &mut HostSides<'_>, labels: &Labels) -> f64 {
        let scale = self.config.scale() as f32;
        let scores = sides.scores(Block::AnchorsDocuments);
        let pairs = labels.pairs();
        let candidates = |direction: Direction| {
            let mut candidates = match block_of(direction) {
                Some(Block::AnchorsDocuments) => self.harder(&scores, labels),
                Some(block) => sides.scores(block),
                None => transposed(scores.slice(s![.., ..pairs])),
            };
            self.blocked(direction, labels).apply(&mut candidates);
            candidates
        };
        let directions = self.own_first(self.config.directions.clone());
        let mut blocks: Vec<Array2<f32>> = directions.iter().map(|direction| candidates(*direction)).collect();
        let loss = match self.config.partition {
            Partition::Joint => pick_own_jointly(&mut blocks, scale),
            Partition::PerDirection => {
                let weight = 1.0 / blocks.len() as f32;
                let losses: Vec<f64> = blocks.iter_mut().map(|block| pick_own(block, scale, weight)).collect();
                losses.iter().sum::<f64>() / losses.len() as f64
            }
        };
        // From positives to anchors are the same scores as from anchors to positives.
        let back = directions.iter().position(|direction| *direction == Direction::DocToQuery);
        if let Some(back) = back {
            let at_back = std::mem::take(&mut blocks[back]);
            let mut at_positives = blocks[0].slice_mut(s![.., ..pairs]);
            at_positives += &at_back.t();
        }
        for (direction, at_scores) in directions.into_iter().zip(blocks) {
            if let Some(block) = block_of(direction) {
                sides.add_gradient(block, at_scores.view());
            }
        }
        loss
    }
}

/// The scores that a direction chooses among; nothing where they are those of another direction, turned over.
fn block_of(direction: Direction) -> Option<Block> {
    match direction {
        Direction::QueryToDoc => Some(Block::AnchorsDocuments),
        Direction::QueryToQuery => Some(Block::AnchorsAnchors),
        Direction::DocToQuery => None,
        Direction::DocToDoc => Some(Block::PositivesDocuments),
    }
}

fn transposed(of: ArrayView2<'_, f32>) -> Array2<f32> {
    of.t().as_standard_layout().into_owned()
}

impl Mnrl {
    fn blocked(&self, direction: Direction, labels: &Labels) -> Blocked {
        match block_of(direction) {
            Some(block) => Blocked::of(block, labels, self.config.mask_duplicates),
            None => Blocked::anchors_of_positives(labels, self.config.mask_duplicates),
        }
    }

    /// What belongs to directions with `query_to_doc` in front, whose first columns hold the right answers.
    fn own_first<T>(&self, mut of_directions: Vec<T>) -> Vec<T> {
        if let Some(at) = self.config.directions.iter().position(|d| *d == Direction::QueryToDoc) {
            of_directions[..=at].rotate_right(1);
        }
        of_directions
    }

    /// Scores of anchors and documents whose product with the scale has α·s added where hardness says so.
    /// What [`pick_own`] makes of them is the gradient with that addend held fast.
    fn harder(&self, scores: &Array2<f32>, labels: &Labels) -> Array2<f32> {
        let mut scores = scores.clone();
        if let Some(hardness) = self.config.hardness {
            let factor = (1.0 + hardness.strength() / self.config.scale()) as f32;
            for ((row, column), score) in scores.indexed_iter_mut() {
                if hardness.touches(row, column, labels.owners()[column] as usize) {
                    *score *= factor;
                }
            }
        }
        scores
    }

    /// The logits of anchors and documents in tensors.
    fn harder_on(&self, scores: Tensor<2>, labels: &Labels) -> Tensor<2> {
        let logits = scores.clone().mul_scalar(self.config.scale());
        let Some(hardness) = self.config.hardness else { return logits };
        let [rows, columns] = scores.dims();
        let alpha = |row: usize, column: usize| {
            let touches = Hardness::touches(hardness, row, column, labels.owners()[column] as usize);
            if touches { hardness.strength() as f32 } else { 0.0 }
        };
        let alphas: Vec<f32> = (0..rows * columns).map(|at| alpha(at / columns, at % columns)).collect();
        let alphas = Tensor::<2>::from_data(TensorData::new(alphas, [rows, columns]), &scores.device());
        logits + scores.detach() * alphas
    }
}
