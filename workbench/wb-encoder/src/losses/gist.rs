//! GISTEmbed: a second encoder says which negatives of a batch are probably none.

use ndarray::Array2;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{EncoderRef, Error, Result};

use super::{
    LossConfig,
    blocked::Blocked,
    labels::Labels,
    loss::{Loss, Needs},
    mnrl::positive,
    sides::{BatchSides, Block},
    softmax::pick_own_jointly,
};
use crate::similarities::DenseSimilarity;

/// GISTEmbed (guided in-sample selection of training negatives).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["guide"]))]
pub struct GistConfig {
    /// The encoder that is asked, by its name. It does not train. It embeds every text once, and again in every epoch
    /// beyond 512 MiB of vectors: for about a third more time of the first epoch where it is of the size of the model.
    pub guide: EncoderRef,
    /// Scores are divided by this.
    pub temperature: f64,
    /// A candidate counts only if the guide's cosine for it is at most that for the positive, p, less a margin: p − m
    /// with `{ absolute: m }`, p − |p|·m with `{ relative: m }`.
    pub margin: Margin,
    /// Takes the other anchors as candidates too.
    pub contrast_anchors: bool,
    /// Takes the other positives as candidates for a positive too.
    pub contrast_positives: bool,
    /// Takes texts out of the candidates that are right answers too, as for `mnrl`.
    pub mask_duplicates: bool,
}

/// A candidate counts only if the guide scores it no higher than the positive's score p, less a margin m.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Margin {
    /// p − m.
    Absolute(f64),
    /// p − |p|·m.
    Relative(f64),
}

impl Default for GistConfig {
    fn default() -> Self {
        Self {
            guide: EncoderRef::default(),
            temperature: 0.01,
            margin: Margin::Absolute(0.0),
            contrast_anchors: true,
            contrast_positives: true,
            mask_duplicates: true,
        }
    }
}

impl Margin {
    /// The highest score of a candidate that counts, given the positive's.
    fn limit(self, positive: f32) -> f32 {
        match self {
            Self::Absolute(margin) => positive - margin as f32,
            Self::Relative(margin) => positive - positive.abs() * margin as f32,
        }
    }
}

/// GISTEmbed of a batch.
///
/// Multiple negatives ranking with the candidates anchor–document, anchor–anchor and positive–positive in one softmax:
/// mean over pairs of −z_ii + log Σ_c exp z_c, z = s/temperature. With g the guide's cosines, a candidate of pair `i`
/// counts only if g_c ≤ g_ii − margin, or g_ii − |g_ii|·margin. The own positive always counts; an anchor or a positive
/// against itself never does.
///
/// # Shapes
/// Scores `[B, D]`, `[B, B]`, `[B, B]`; the guide's the same, of embeddings of any length.
///
/// Solatorio 2024, arXiv 2402.16829. Equals sentence-transformers' `CachedGISTEmbedLoss`, and `GISTEmbedLoss` for the up
/// to one hard negative that it takes; those always compare by the cosine, here the model is compared by `train.similarity`.
/// Two differences: there, a text counts against itself where the guide's score for the positive is above 1 + margin
/// (with a margin below 0, that is); and masked duplicates are ours, as the guide scores them no higher than the positive.
impl Loss for GistConfig {
    fn needs(&self) -> Needs {
        Needs { loss: "gist", in_batch: true, guide: true, ..Needs::default() }
    }

    fn forward_backward(&self, sides: &mut BatchSides<'_>, labels: &Labels) -> f64 {
        let of_blocks = self.blocks();
        let candidates = |(block, masked): (&Block, Array2<bool>)| {
            let mut scores = sides.scores(*block);
            scores.zip_mut_with(&masked, |score, masked| *score = if *masked { f32::NEG_INFINITY } else { *score });
            scores
        };
        let mut blocks: Vec<Array2<f32>> = of_blocks.iter().zip(self.masks(labels)).map(candidates).collect();
        let loss = pick_own_jointly(&mut blocks, self.temperature.recip() as f32);
        for (block, at_scores) in of_blocks.into_iter().zip(blocks) {
            sides.add_gradient(block, at_scores.view());
        }
        loss
    }

    fn guide(&self) -> Option<&EncoderRef> {
        Some(&self.guide)
    }

    fn scale(&self) -> Option<f64> {
        Some(self.temperature.recip())
    }

    fn with_scale(&self, scale: f64) -> Option<LossConfig> {
        Some(LossConfig::Gist(Self { temperature: scale.recip(), ..self.clone() }))
    }

    fn validate(&self, key: &str) -> Result<()> {
        self.guide.validate(&format!("{key}.guide"))?;
        positive(&format!("{key}.temperature"), Some(self.temperature), "0.01 to 0.05 suit cosines")?;
        let (Margin::Absolute(margin) | Margin::Relative(margin)) = self.margin;
        if !margin.is_finite() {
            return Err(Error::value(format!("{key}.margin"), format!("got {margin}, expected a number")));
        }
        Ok(())
    }
}

impl GistConfig {
    fn blocks(&self) -> Vec<Block> {
        let chosen = [
            (Block::AnchorsDocuments, true),
            (Block::AnchorsAnchors, self.contrast_anchors),
            (Block::PositivesPositives, self.contrast_positives),
        ];
        chosen.into_iter().filter(|(_, wanted)| *wanted).map(|(block, _)| block).collect()
    }

    /// Masks of the scores of each block that must not count. Labels are checked before: they have a guide.
    fn masks(&self, labels: &Labels) -> Vec<Array2<bool>> {
        let Some(guide) = labels.guide() else { return Vec::new() };
        let cosine = DenseSimilarity::cosine();
        let guide = BatchSides::new(&cosine, guide.anchors.view(), guide.documents.view(), false);
        let of_documents = guide.scores(Block::AnchorsDocuments);
        let limits: Vec<f32> = of_documents.diag().iter().map(|positive| self.margin.limit(*positive)).collect();
        let mask = |block: Block| {
            let scores = if block == Block::AnchorsDocuments { of_documents.clone() } else { guide.scores(block) };
            let mut masked = Array2::from_elem(scores.dim(), false);
            for ((mut masked, scores), limit) in masked.outer_iter_mut().zip(scores.outer_iter()).zip(&limits) {
                masked.zip_mut_with(&scores, |masked, score| *masked = score > limit);
            }
            if block == Block::AnchorsDocuments {
                masked.diag_mut().fill(false);
            }
            for cell in Blocked::of(block, labels, self.mask_duplicates).cells() {
                masked[*cell] = true;
            }
            masked
        };
        self.blocks().into_iter().map(mask).collect()
    }
}
