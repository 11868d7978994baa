//! Attention inside each text, head by head, forward and backward: all its tokens ask, and those that are attended to
//! ([`keys`](crate::batch::TokenBatch::keys) of them) answer.

use super::{distances::Distances, dropout_mask::Mask, linear::GroupPass, pool::sized, states::rows_of};
use crate::{
    dropout::attention_element,
    kernels::{Mat, MatMut, matmul, softmax},
};

/// A layer's heads: their sizes, where their parts stand in a row of `[tokens, 3 · heads · size]`, and what is done
/// to their scores and probabilities.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    pub count: usize,
    pub size: usize,
    /// Factor of the scores.
    pub scale: f32,
    /// Dropout on the probabilities.
    pub mask: Option<Mask>,
}

/// Buffers of attention.
#[derive(Debug, Default)]
pub struct AttentionScratch {
    /// Probabilities of one head.
    pub probabilities: Vec<f32>,
    /// Attention probabilities after dropout.
    pub dropped: Vec<f32>,
}

impl Heads {
    /// Width of queries, keys, values and context.
    pub fn inner(&self) -> usize {
        self.count * self.size
    }

    /// Number of probabilities of a group.
    pub fn n_probabilities(&self, pass: GroupPass<'_>) -> usize {
        let of_text = |text: usize| rows_of(pass.batch, pass.group, text).1 * pass.batch.keys(text);
        pass.group.texts.clone().map(of_text).sum::<usize>() * self.count
    }

    /// `context = softmax(scale · q·kᵀ + bias)·v` for each text and head, where there is a bias.
    ///
    /// With `keep`, the probabilities of the whole group are left there, text by text, head by head.
    pub fn attend(
        self,
        pass: GroupPass<'_>,
        bias: Option<&Distances>,
        projections: &[f32],
        context: &mut [f32],
        mut keep: Option<&mut Vec<f32>>,
        scratch: &mut AttentionScratch,
    ) {
        let AttentionScratch { probabilities, dropped } = scratch;
        let (inner, width) = (self.inner(), 3 * self.inner());
        if let Some(kept) = keep.as_deref_mut() {
            sized(kept, self.n_probabilities(pass));
        }
        let mut kept_at = 0;
        for text in pass.group.texts.clone() {
            let ((first, n), keys) = (rows_of(pass.batch, pass.group, text), pass.batch.keys(text));
            if n == 0 {
                continue;
            }
            for head in 0..self.count {
                let rows = &projections[first * width..];
                let part =
                    |which: usize, n| Mat::strided(&rows[which * inner + head * self.size..], n, self.size, width);
                let p = match keep.as_deref_mut() {
                    Some(kept) => &mut kept[kept_at..kept_at + n * keys],
                    None => sized(probabilities, n * keys),
                };
                matmul(MatMut::new(p, n, keys), false, part(0, n), part(1, keys).t(), self.scale);
                if let Some(bias) = bias {
                    bias.add_to(head, p, keys);
                }
                softmax::softmax_rows(p, keys);
                let p: &[f32] = match self.mask {
                    None => p,
                    Some(mask) => {
                        let dropped = sized(dropped, n * keys);
                        dropped.copy_from_slice(p);
                        let place = pass.batch.place(text);
                        mask.apply_to_rows(dropped, keys, place, |query| attention_element(head, query));
                        dropped
                    }
                };
                let out = &mut context[first * inner + head * self.size..];
                matmul(MatMut::strided(out, n, self.size, inner), false, Mat::new(p, n, keys), part(2, keys), 1.0);
                kept_at += n * keys;
            }
        }
    }

    /// From the gradient at the context to the gradient at query, key and value, `[tokens, 3 · inner]`;
    /// adds the gradient at the bias where it is wanted.
    #[expect(clippy::too_many_arguments, reason = "the pass, what it kept, the gradients in and out")]
    pub fn attend_backward(
        self,
        pass: GroupPass<'_>,
        projections: &[f32],
        probabilities: &[f32],
        d_context: &[f32],
        d_projections: &mut [f32],
        mut d_bias: Option<&mut Distances>,
        scratch: &mut AttentionScratch,
    ) {
        let AttentionScratch { probabilities: buffer, dropped } = scratch;
        let (inner, width) = (self.inner(), 3 * self.inner());
        let mut kept_at = 0;
        for text in pass.group.texts.clone() {
            let ((first, n), keys) = (rows_of(pass.batch, pass.group, text), pass.batch.keys(text));
            if n == 0 {
                continue;
            }
            for head in 0..self.count {
                let column = head * self.size;
                let rows = &projections[first * width..];
                let part = |which: usize, n| Mat::strided(&rows[which * inner + column..], n, self.size, width);
                let p = &probabilities[kept_at..kept_at + n * keys];
                let drop = |mask: Mask, x: &mut [f32]| {
                    mask.apply_to_rows(x, keys, pass.batch.place(text), |query| attention_element(head, query));
                };
                let used: &[f32] = match self.mask {
                    None => p,
                    Some(mask) => {
                        let dropped = sized(dropped, n * keys);
                        dropped.copy_from_slice(p);
                        drop(mask, dropped);
                        dropped
                    }
                };
                let d_out = Mat::strided(&d_context[first * inner + column..], n, self.size, inner);
                let d_rows = &mut d_projections[first * width..];
                // Keys and values that nobody asks.
                for row in d_rows.chunks_mut(width).take(n).skip(keys) {
                    row[inner + column..][..self.size].fill(0.0);
                    row[2 * inner + column..][..self.size].fill(0.0);
                }
                let d_value = MatMut::strided(&mut d_rows[2 * inner + column..], keys, self.size, width);
                matmul(d_value, false, Mat::new(used, n, keys).t(), d_out, 1.0);
                let d_scores = sized(buffer, n * keys);
                matmul(MatMut::new(d_scores, n, keys), false, d_out, part(2, keys).t(), 1.0);
                if let Some(mask) = self.mask {
                    drop(mask, d_scores);
                }
                softmax::softmax_backward_rows(d_scores, p, keys);
                if let Some(d_bias) = d_bias.as_deref_mut() {
                    d_bias.add(head, d_scores, keys);
                }
                let d_query = MatMut::strided(&mut d_rows[column..], n, self.size, width);
                matmul(d_query, false, Mat::new(d_scores, n, keys), part(1, keys), self.scale);
                let d_key = MatMut::strided(&mut d_rows[inner + column..], keys, self.size, width);
                matmul(d_key, false, Mat::new(d_scores, n, keys).t(), part(0, n), self.scale);
                kept_at += n * keys;
            }
        }
    }
}
