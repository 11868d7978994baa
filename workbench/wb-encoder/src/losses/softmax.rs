//! The part that contrastive losses share: each row picks its own column.

use ndarray::{Array2, s};
use rayon::prelude::*;

use crate::kernels::vector::{exp, max, sum, vectorized};

/// Cross-entropy of rows whose right column is the one with the row's number.
///
/// Takes scores `[B, C]`, C ≥ B, and leaves the gradient of `weight` times the loss at them: with p the softmax of
/// scale·s over a row, weight·scale·(p_ij − [i = j])/B. Returns the loss, mean over rows of log Σ_j exp(scale·s_ij) − scale·s_ii.
/// Minus infinity takes a score out.
pub fn pick_own(scores: &mut Array2<f32>, scale: f32, weight: f32) -> f64 {
    let (rows, width) = scores.dim();
    let step = weight * scale / rows as f32;
    let one = |(row, scores): (usize, &mut [f32])| {
        let own = scores[row];
        let (mut total, mut top) = (0.0, 0.0);
        vectorized!({
            top = max(scores);
            for s in scores.iter_mut() {
                *s = exp((*s - top) * scale);
            }
            total = sum(scores);
            let factor = step / total;
            for s in scores.iter_mut() {
                *s *= factor;
            }
        });
        scores[row] -= step;
        f64::from((top - own) * scale) + f64::from(total).ln()
    };
    let all = scores.as_slice_mut().unwrap_or_default();
    // Collected, then summed in row order: the same sum with any number of threads.
    let losses: Vec<f64> = all.par_chunks_exact_mut(width.max(1)).enumerate().map(one).collect();
    losses.iter().sum::<f64>() / rows as f64
}

/// Picks with the candidates of several blocks in one softmax, the right answers in the first. The loss's gradient
/// is left in each.
pub fn pick_own_jointly(blocks: &mut [Array2<f32>], scale: f32) -> f64 {
    if let [one] = blocks {
        return pick_own(one, scale, 1.0);
    }
    let mut wide = beside(blocks);
    let loss = pick_own(&mut wide, scale, 1.0);
    let mut start = 0;
    for block in blocks {
        let end = start + block.ncols();
        block.assign(&wide.slice(s![.., start..end]));
        start = end;
    }
    loss
}

/// Blocks of scores side by side.
fn beside(blocks: &[Array2<f32>]) -> Array2<f32> {
    let rows = blocks.first().map_or(0, |block| block.nrows());
    let width = blocks.iter().map(|block| block.ncols()).sum();
    let mut wide = Array2::zeros((rows, width));
    if let Some(all) = wide.as_slice_mut().filter(|all| !all.is_empty()) {
        all.par_chunks_exact_mut(width).enumerate().for_each(|(row, wide)| {
            let mut rest = wide;
            for block in blocks {
                let (part, others) = rest.split_at_mut(block.ncols());
                part.iter_mut().zip(block.row(row)).for_each(|(wide, value)| *wide = *value);
                rest = others;
            }
        });
    }
    wide
}
