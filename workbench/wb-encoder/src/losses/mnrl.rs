//! Multiple Negatives Ranking Loss: pick the own positive among all documents of the batch.

use ndarray::{Array2, ArrayView2, s};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};

use super::{
    LossConfig,
    blocked::Blocked,
    labels::Labels,
    loss::{Loss, Needs},
    sides::{BatchSides, Block},
    softmax::{pick_own, pick_own_jointly},
};
use crate::{error::expect_value, similarities::SimilarityConfig};

/// The scale where neither a scale nor a temperature is given: a temperature of 0.05.
const SCALE: f64 = 20.0;

/// Multiple Negatives Ranking Loss (InfoNCE with in-batch negatives).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MnrlConfig {
    /// Scores are multiplied by this: 20 suits cosines, 1 dot products and sums over tokens. Where `temperature` is not
    /// given either, 20, or 1 with `similarity: maxsim` and `xtr`.
    pub scale: Option<f64>,
    /// Scores are divided by this: the inverse of `scale`, and another way to give it; 0.05 is a scale of 20. Both are
    /// an error.
    pub temperature: Option<f64>,
    /// Texts to tell apart, each with its candidates. `query_to_doc`, always needed: an anchor, all documents.
    /// `query_to_query`: an anchor, the other anchors. `doc_to_query`: a positive, all anchors. `doc_to_doc`: a
    /// positive, all documents but those of its own anchor. They cost next to nothing.
    pub directions: Vec<Direction>,
    /// `joint`: one softmax over the candidates of all directions. `per_direction`: one in each, and the losses
    /// averaged; for `query_to_doc` and `doc_to_query` only.
    pub partition: Partition,
    /// Adds strength · score to the logits of some negatives, without a gradient: `{ in_batch_negatives: 9 }`
    /// (documents of other pairs), `{ hard_negatives: 5 }` (the pair's own) or `{ all_negatives: 5 }`.
    pub hardness: Option<Hardness>,
    /// Takes texts out of the candidates that are right answers too: documents equal to the anchor's positive,
    /// positives of an equal anchor, and the same among anchors and among documents in the other directions.
    pub mask_duplicates: bool,
}

/// Texts whose scores are candidates beside the own positive's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// An anchor against all documents of the batch.
    QueryToDoc,
    /// An anchor against the other anchors.
    QueryToQuery,
    /// A positive against all anchors.
    DocToQuery,
    /// A positive against all documents but those of its own anchor.
    DocToDoc,
}

/// Way from the scores of several directions to a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Partition {
    /// One softmax over the candidates of all directions.
    #[default]
    Joint,
    /// A softmax in each direction, and the mean of the losses.
    PerDirection,
}

/// Negatives that count more the more they look like an answer: α·s is added to their logits, without a gradient.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hardness {
    /// Documents of other pairs; LLaVE has α = 9 (Lan et al. 2025, arXiv 2503.04812).
    InBatchNegatives(f64),
    /// The pair's own hard negatives; EmbeddingGemma has α = 5 (Schechter Vera et al. 2025, arXiv 2509.20354).
    HardNegatives(f64),
    /// Both.
    AllNegatives(f64),
}

impl Hardness {
    /// α.
    pub fn strength(self) -> f64 {
        match self {
            Self::InBatchNegatives(strength) | Self::HardNegatives(strength) | Self::AllNegatives(strength) => strength,
        }
    }

    /// True where it touches the score of anchor `row` with document `column`, which belongs to pair `owner`.
    pub fn touches(self, row: usize, column: usize, owner: usize) -> bool {
        match self {
            Self::InBatchNegatives(_) => owner != row,
            Self::HardNegatives(_) => owner == row && column != row,
            Self::AllNegatives(_) => column != row,
        }
    }
}

impl Default for MnrlConfig {
    fn default() -> Self {
        Self {
            scale: None,
            temperature: None,
            directions: vec![Direction::QueryToDoc],
            partition: Partition::Joint,
            hardness: None,
            mask_duplicates: true,
        }
    }
}

impl MnrlConfig {
    /// The number that scores are multiplied by.
    pub fn scale(&self) -> f64 {
        self.scale.or(self.temperature.map(f64::recip)).unwrap_or(SCALE)
    }

    fn blocked(&self, direction: Direction, labels: &Labels) -> Blocked {
        match block_of(direction) {
            Some(block) => Blocked::of(block, labels, self.mask_duplicates),
            None => Blocked::anchors_of_positives(labels, self.mask_duplicates),
        }
    }

    /// Scores of anchors and documents whose product with the scale has α·s added where hardness says so.
    /// What [`pick_own`] makes of them is the gradient with that addend held fast.
    fn harder(&self, scores: &Array2<f32>, labels: &Labels) -> Array2<f32> {
        let mut scores = scores.clone();
        if let Some(hardness) = self.hardness {
            let factor = (1.0 + hardness.strength() / self.scale()) as f32;
            for ((row, column), score) in scores.indexed_iter_mut() {
                if hardness.touches(row, column, labels.owners()[column] as usize) {
                    *score *= factor;
                }
            }
        }
        scores
    }
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::QueryToDoc => "query_to_doc",
            Self::QueryToQuery => "query_to_query",
            Self::DocToQuery => "doc_to_query",
            Self::DocToDoc => "doc_to_doc",
        }
    }
}

/// Refuses a number that is not above 0.
pub(super) fn positive(key: &str, value: Option<f64>, hint: &str) -> Result<()> {
    let fine = value.is_none_or(|value| value.is_finite() && value > 0.0);
    expect_value(key, value.unwrap_or_default(), fine, "a number above 0").map_err(|error| error.with_hint(hint))
}

/// Multiple Negatives Ranking Loss of a batch.
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
impl Loss for MnrlConfig {
    fn needs(&self) -> Needs {
        Needs { loss: "mnrl", in_batch: true, ..Needs::default() }
    }

    fn forward_backward(&self, sides: &mut BatchSides<'_>, labels: &Labels) -> f64 {
        let scale = self.scale() as f32;
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
        // In front the one whose first columns hold the right answers.
        let mut directions = self.directions.clone();
        directions.sort_by_key(|direction| *direction != Direction::QueryToDoc);
        let mut blocks: Vec<Array2<f32>> = directions.iter().map(|direction| candidates(*direction)).collect();
        let loss = match self.partition {
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

    /// Sums over tokens are multiplied by 1 and not by 20, as in sentence-transformers and PyLate.
    fn suited(&self, similarity: SimilarityConfig) -> Option<LossConfig> {
        let given = self.scale.is_some() || self.temperature.is_some();
        if given || similarity.of_tokens().is_none() { None } else { self.with_scale(1.0) }
    }

    fn scale(&self) -> Option<f64> {
        Some(self.scale())
    }

    fn with_scale(&self, scale: f64) -> Option<LossConfig> {
        Some(LossConfig::Mnrl(Self { scale: Some(scale), temperature: None, ..self.clone() }))
    }

    fn validate(&self, key: &str) -> Result<()> {
        if let (Some(scale), Some(temperature)) = (self.scale, self.temperature) {
            let message =
                format!("the temperature stands here twice: `scale` {scale} is a temperature of {}", 1.0 / scale);
            return Err(Error::value(format!("{key}.temperature"), message)
                .with_hint(format!("keep one of `scale: {scale}` and `temperature: {temperature}`")));
        }
        positive(
            &format!("{key}.scale"),
            self.scale,
            "20 suits cosines, 1 dot products; it is the inverse of a temperature",
        )?;
        positive(&format!("{key}.temperature"), self.temperature, "0.05 suits cosines, 1 dot products")?;
        let refuse = |name: &str, message: String| Err(Error::value(format!("{key}.{name}"), message));
        if !self.directions.contains(&Direction::QueryToDoc) {
            return refuse("directions", "expected `query_to_doc` among them: it holds the right answer".into());
        }
        for (at, direction) in self.directions.iter().enumerate() {
            if self.directions[..at].contains(direction) {
                return refuse("directions", format!("`{}` stands there twice", direction.name()));
            }
            let has_no_answer = matches!(direction, Direction::QueryToQuery | Direction::DocToDoc);
            if has_no_answer && self.partition == Partition::PerDirection {
                let message = format!("got `per_direction`, but `{}` alone holds no right answer", direction.name());
                return Err(Error::value(format!("{key}.partition"), message).with_hint("`partition: joint`"));
            }
        }
        let strength = self.hardness.map_or(1.0, Hardness::strength);
        let fine = strength.is_finite() && strength > 0.0;
        expect_value(format!("{key}.hardness"), strength, fine, "a number above 0, or no `hardness`")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temperature_is_the_inverse_of_a_scale() {
        let config: MnrlConfig = serde_json::from_str(r#"{"temperature": 0.1}"#).unwrap();
        assert_eq!((config.scale(), MnrlConfig::default().scale()), (10.0, 20.0));
        let other = config.with_scale(2.0).unwrap();
        assert_eq!(other.scale(), Some(2.0));
        other.validate("x").unwrap();
    }
}
