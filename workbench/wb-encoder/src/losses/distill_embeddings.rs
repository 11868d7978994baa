//! Distillation of embeddings: the model's vector of each text like a teacher's, whatever the text belongs to.

use ndarray::{Array2, ArrayView1, ArrayView2, s};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{EncoderRef, Result};

use super::{
    labels::Labels,
    loss::{Loss, Needs},
    sides::BatchSides,
};
use crate::similarities::{DenseSimilarity, Similarity, SimilarityConfig};

/// Distillation of a teacher's embeddings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["teacher"]))]
pub struct DistillEmbeddingsConfig {
    /// The encoder that is followed, by its name. It does not train. It embeds every text once, with its own prompts and
    /// lengths, and again in every epoch beyond 512 MiB of vectors; that is most of the time where the model is smaller. Where its vectors are longer than the model's, they
    /// are shortened to the principal components of a sample of the training texts; shorter ones are an error.
    pub teacher: EncoderRef,
    /// Distance of the two vectors of a text: `cosine`, 1 less their cosine, or `mse`, the mean squared difference of
    /// their numbers, of length 1 with `similarity: cosine` and as they are with `dot`.
    pub by: EmbeddingDistance,
}

/// Distance of two vectors of one text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingDistance {
    /// 1 − the cosine.
    #[default]
    Cosine,
    /// The mean over the numbers of the squared difference.
    Mse,
}

/// Distillation of embeddings, of a batch.
///
/// With x the model's vector of a text and t the teacher's, the mean over all texts of the batch, be they anchors,
/// positives, hard negatives or texts without a label, each as often as it stands there:
///
/// - `cosine`: 1 − x·t / (‖x‖·‖t‖);
/// - `mse`: ‖x − t‖² / dim. `train.similarity` says what x and t are: vectors brought to length 1 with `cosine` (the loss
///   is then that of `cosine` times 2/dim), and as the backbone and the teacher give them with `dot`.
///
/// A cut of Matryoshka compares the first numbers of both vectors: the teacher's are its principal components then.
///
/// # Shapes
/// x and t are `[B, dim]` of the anchors and `[D, dim]` of the documents.
///
/// Reimers and Gurevych 2020, arXiv 2004.09813; Kim et al. 2023, arXiv 2301.12005. `mse` with `dot` equals
/// sentence-transformers' `MSELoss` (its `EmbedDistillLoss` with `mse`) with the teacher's vectors as labels on models
/// without a `Normalize` module, `mse` with `cosine` on models that both end in one, and `cosine` its `EmbedDistillLoss`
/// with `cosine`. There, the mean is that of the columns' means, which is the same where every pair brings the same number
/// of hard negatives; and longer vectors of a teacher meet a trained projection of the model's.
impl Loss for DistillEmbeddingsConfig {
    fn needs(&self) -> Needs {
        Needs { loss: "distill_embeddings", guide: true, guide_dim: true, texts: true, ..Needs::default() }
    }

    fn forward_backward(&self, sides: &mut BatchSides<'_>, labels: &Labels) -> f64 {
        // Both are checked before.
        let (Some(rows), Some(guide)) = (sides.rows(), labels.guide()) else { return f64::NAN };
        let dim = rows[0].ncols();
        let texts = rows.iter().map(|side| side.nrows()).sum::<usize>();
        let mut sum = 0.0;
        let [at_anchors, at_documents] =
            [(rows[0], &guide.anchors), (rows[1], &guide.documents)].map(|(own, wanted)| {
                let wanted = sides.prepared(wanted.slice(s![.., ..dim]));
                self.add_side(own, wanted.view(), 1.0 / texts as f64, &mut sum)
            });
        sides.add_row_gradients([at_anchors.view(), at_documents.view()]);
        sum
    }

    fn similarity(&self, given: SimilarityConfig) -> Box<dyn Similarity> {
        match self.by {
            EmbeddingDistance::Cosine => Box::new(DenseSimilarity::cosine()),
            EmbeddingDistance::Mse => given.init(),
        }
    }

    fn not_by_tokens(&self) -> Option<&'static str> {
        Some("`distill_embeddings` compares one vector a text with the teacher's")
    }

    fn guide(&self) -> Option<&EncoderRef> {
        Some(&self.teacher)
    }

    fn guide_key(&self) -> &'static str {
        "teacher"
    }

    fn validate(&self, key: &str) -> Result<()> {
        self.teacher.validate(&format!("{key}.teacher"))
    }
}

impl DistillEmbeddingsConfig {
    /// Adds `weight` times the distance of each row to the teacher's to the sum, and gives the gradient at the rows.
    fn add_side(
        &self,
        own: ArrayView2<'_, f32>,
        wanted: ArrayView2<'_, f32>,
        weight: f64,
        sum: &mut f64,
    ) -> Array2<f32> {
        let mut gradient = Array2::zeros(own.dim());
        let weight = match self.by {
            EmbeddingDistance::Cosine => weight,
            EmbeddingDistance::Mse => weight / own.ncols().max(1) as f64,
        };
        for ((own, wanted), mut gradient) in own.outer_iter().zip(wanted.outer_iter()).zip(gradient.outer_iter_mut()) {
            let each = gradient.iter_mut().zip(own.iter().zip(wanted));
            match self.by {
                EmbeddingDistance::Cosine => {
                    *sum += weight * (1.0 - product(own, wanted));
                    each.for_each(|(gradient, (_, wanted))| *gradient = (-weight * f64::from(*wanted)) as f32);
                }
                EmbeddingDistance::Mse => each.for_each(|(gradient, (own, wanted))| {
                    let off = f64::from(*own) - f64::from(*wanted);
                    *sum += weight * off * off;
                    *gradient = (2.0 * weight * off) as f32;
                }),
            }
        }
        gradient
    }
}

fn product(a: ArrayView1<'_, f32>, b: ArrayView1<'_, f32>) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
