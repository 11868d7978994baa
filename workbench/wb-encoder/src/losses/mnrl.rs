//! Multiple Negatives Ranking Loss: pick the own positive among all documents of the batch.

use burn::tensor::{Tensor, activation::log_softmax};
use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::loss::{Blocked, Loss, ScoreMatrix};
use crate::kernels::vector::{exp, max, sum, vectorized};

/// Rows that one thread takes at a time; fixed, so that sums do not depend on the threads.
const ROWS: usize = 64;

/// Multiple Negatives Ranking Loss (InfoNCE with in-batch negatives).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MnrlConfig {
    /// Scores are multiplied by this: 20 for cosines; bigger is stricter. The inverse of a temperature.
    pub scale: f64,
    /// Also from each positive to the anchors of the batch, both directions averaged.
    pub symmetric: bool,
    /// Takes documents out of an anchor's candidates that are right answers too:
    /// the same text as its positive, or the positive of an equal anchor.
    pub mask_duplicates: bool,
}

impl Default for MnrlConfig {
    fn default() -> Self {
        Self { scale: 20.0, symmetric: false, mask_duplicates: true }
    }
}

impl MnrlConfig {
    /// The loss, ready to use.
    pub fn init(&self) -> Mnrl {
        Mnrl { scale: self.scale, symmetric: self.symmetric, mask_duplicates: self.mask_duplicates }
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        if !(self.scale.is_finite() && self.scale > 0.0) {
            let message = format!("got {}, expected a number above 0", self.scale);
            return Err(wb_core::Error::value(format!("{key}.scale"), message)
                .with_hint("20 suits cosines, 1 dot products; it is the inverse of a temperature"));
        }
        Ok(())
    }
}

/// Multiple Negatives Ranking Loss, ready to use.
///
/// With z = scale·s: mean over rows i of −z_ii + log Σ_j exp z_ij over the candidates j that count.
/// Symmetric: the mean of that and of the same from positives to anchors, −z_ii + log Σ_k exp z_ki over anchors k;
/// hard negatives are candidates in the first direction only.
///
/// Henderson et al. 2017, "Efficient Natural Language Response Suggestion for Smart Reply"; van den Oord et al. 2018.
/// Equals sentence-transformers' `MultipleNegativesRankingLoss`, symmetric with
/// `directions=("query_to_doc", "doc_to_query"), partition_mode="per_direction"`. Masked duplicates are ours.
#[derive(Debug, Clone)]
pub struct Mnrl {
    scale: f64,
    symmetric: bool,
    mask_duplicates: bool,
}

impl Loss for Mnrl {
    /// # Shapes
    /// `matrix.scores` is `[B, D]`; the loss is `[1]`.
    fn forward(&self, matrix: ScoreMatrix) -> Tensor<1> {
        let logits = matrix.scores.mul_scalar(self.scale);
        let logits = match matrix.blocked {
            // Not -inf: its gradient under log_softmax would be 0·inf on some devices. exp(-1e9) is 0.
            Some(blocked) => logits.mask_fill(blocked, -1e9),
            None => logits,
        };
        let rows = logits.dims()[0];
        let forward = own_row_loss(logits.clone());
        if !self.symmetric {
            return forward;
        }
        let back = own_row_loss(logits.slice([0..rows, 0..rows]).transpose());
        (forward + back).mul_scalar(0.5)
    }

    fn forward_backward_host(&self, scores: &mut Array2<f32>, blocked: &Blocked) -> f64 {
        for cell in blocked.cells() {
            scores[*cell] = f32::NEG_INFINITY;
        }
        let scale = self.scale as f32;
        let columns = if self.symmetric { Some(Columns::of(scores, scale)) } else { None };
        rows_to_gradients(scores, scale, columns.as_ref())
    }

    fn masks_duplicates(&self) -> bool {
        self.mask_duplicates
    }
}

/// Mean over rows of −log softmax at the diagonal.
fn own_row_loss(logits: Tensor<2>) -> Tensor<1> {
    let [rows, _] = logits.dims();
    let own = Tensor::arange(0..rows as i64, &logits.device()).reshape([rows, 1]);
    log_softmax(logits, 1).gather(1, own).mean().neg()
}

/// The softmax over each of the first B columns of scores `[B, D]`: what a positive sees of all anchors.
struct Columns {
    largest: Vec<f32>,
    /// Σ_k exp(scale·(s_kj − largest_j)).
    sums: Vec<f32>,
    /// What turns exp(scale·(s_kj − largest_j)) into a share of the gradient.
    factors: Vec<f32>,
}

impl Columns {
    /// Blocks of rows give their part each, and the parts are put together in order.
    fn of(scores: &Array2<f32>, scale: f32) -> Self {
        let (rows, width) = scores.dim();
        let blocks = || scores.as_slice().unwrap_or_default().par_chunks(ROWS * width.max(1));
        let largest_of = |block: &[f32]| {
            let mut largest = vec![f32::NEG_INFINITY; rows];
            vectorized(
                #[inline(always)]
                || block.chunks_exact(width).for_each(|row| keep_larger(&mut largest, row)),
            );
            largest
        };
        let mut largest = vec![f32::NEG_INFINITY; rows];
        let parts: Vec<Vec<f32>> = blocks().map(largest_of).collect();
        parts.iter().for_each(|part| keep_larger(&mut largest, part));

        let sums_of = |block: &[f32]| {
            let mut sums = vec![0.0; rows];
            vectorized(
                #[inline(always)]
                || {
                    for row in block.chunks_exact(width) {
                        for ((sum, s), m) in sums.iter_mut().zip(row).zip(&largest) {
                            *sum += exp((s - m) * scale);
                        }
                    }
                },
            );
            sums
        };
        let mut sums = vec![0.0; rows];
        let parts: Vec<Vec<f32>> = blocks().map(sums_of).collect();
        parts.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x));
        let step = scale / (2 * rows) as f32;
        let factors = sums.iter().map(|sum| step / sum).collect();
        Self { largest, sums, factors }
    }
}

#[inline(always)]
fn keep_larger(largest: &mut [f32], row: &[f32]) {
    for (m, s) in largest.iter_mut().zip(row) {
        *m = if *s > *m { *s } else { *m };
    }
}

/// Takes scores `[B, D]`, leaves the loss's gradient, and returns the loss. One direction:
/// ∂loss/∂s_ij = scale·(softmax_ij − [i = j])/B with the softmax over row i. Both: the mean of that and of
/// the same with the softmax over column j.
fn rows_to_gradients(scores: &mut Array2<f32>, scale: f32, columns: Option<&Columns>) -> f64 {
    let (rows, width) = scores.dim();
    let directions = if columns.is_some() { 2.0 } else { 1.0 };
    let step = scale / (rows as f32 * directions);
    let one = |(row, scores): (usize, &mut [f32])| {
        let own = scores[row];
        let mut loss = 0.0;
        let mut back = Vec::new();
        if let Some(columns) = columns {
            let (largest, sum) = (columns.largest[row], columns.sums[row]);
            loss += f64::from((largest - own) * scale) + f64::from(sum).ln();
            back.resize(rows, 0.0);
        }
        let mut total = 0.0;
        let mut top = 0.0;
        vectorized(
            #[inline(always)]
            || {
                if let Some(columns) = columns {
                    for (((back, s), m), factor) in
                        back.iter_mut().zip(&*scores).zip(&columns.largest).zip(&columns.factors)
                    {
                        *back = exp((s - m) * scale) * factor;
                    }
                }
                top = max(scores);
                for s in scores.iter_mut() {
                    *s = exp((*s - top) * scale);
                }
                total = sum(scores);
                let factor = step / total;
                for s in scores.iter_mut() {
                    *s *= factor;
                }
                for (s, back) in scores.iter_mut().zip(&back) {
                    *s += back;
                }
            },
        );
        scores[row] -= step * directions;
        loss + f64::from((top - own) * scale) + f64::from(total).ln()
    };
    let all = scores.as_slice_mut().unwrap_or_default();
    // Collected, then summed in row order: the same sum with any number of threads.
    let losses: Vec<f64> = all.par_chunks_exact_mut(width.max(1)).enumerate().map(one).collect();
    losses.iter().sum::<f64>() / (rows as f64 * f64::from(directions))
}
