//! Attention inside each text, head by head, forward and backward.

use super::NativeBert;
use crate::{
    Dropout, TokenBatch,
    dropout::{ATTENTION, SITES, attention_element},
    kernels::{Mat, MatMut, matmul, softmax},
    native::{dropout_mask::Mask, groups::Group, pool::sized},
};

/// The sizes of a head and where its parts stand in a row of `[tokens, 3 · hidden]`.
struct Heads {
    count: usize,
    size: usize,
    hidden: usize,
    scale: f32,
}

impl NativeBert {
    fn heads(&self) -> Heads {
        let (hidden, count) = (self.config.hidden_size, self.config.num_attention_heads);
        let size = hidden / count;
        Heads { count, size, hidden, scale: (1.0 / (size as f64).sqrt()) as f32 }
    }

    fn attention_mask(&self, layer: usize, dropout: Option<Dropout>) -> Option<Mask> {
        Mask::new(dropout, SITES * (layer as u64 + 1) + ATTENTION, self.config.attention_dropout)
    }

    /// How many probabilities a group has in one layer.
    pub(super) fn n_probabilities(&self, batch: &TokenBatch, group: &Group) -> usize {
        let squares: usize =
            batch.offsets()[group.texts.start..=group.texts.end].windows(2).map(|w| (w[1] - w[0]).pow(2)).sum();
        squares * self.config.num_attention_heads
    }

    /// `context = softmax(q·kᵀ / √size)·v` for each text and head.
    ///
    /// `probabilities` holds those of the whole group when `keep` is set, else of one head at a time.
    #[expect(clippy::too_many_arguments, reason = "the pass, its input, its two outputs")]
    pub(super) fn attend(
        &self,
        batch: &TokenBatch,
        group: &Group,
        layer: usize,
        dropout: Option<Dropout>,
        projections: &[f32],
        context: &mut [f32],
        probabilities: &mut Vec<f32>,
        dropped: &mut Vec<f32>,
        keep: bool,
    ) {
        let heads = self.heads();
        let mask = self.attention_mask(layer, dropout);
        let width = 3 * heads.hidden;
        if keep {
            sized(probabilities, self.n_probabilities(batch, group));
        }
        let mut kept_at = 0;
        for text in group.texts.clone() {
            let (first, n) = self.rows_of(batch, group, text);
            if n == 0 {
                continue;
            }
            for head in 0..heads.count {
                let rows = &projections[first * width..];
                let part = |which: usize| {
                    Mat::strided(&rows[which * heads.hidden + head * heads.size..], n, heads.size, width)
                };
                let p = match keep {
                    true => &mut probabilities[kept_at..kept_at + n * n],
                    false => sized(probabilities, n * n),
                };
                matmul(MatMut::new(p, n, n), false, part(0), part(1).t(), heads.scale);
                softmax::softmax_rows(p, n);
                let p: &[f32] = match mask {
                    None => p,
                    Some(mask) => {
                        let dropped = sized(dropped, n * n);
                        dropped.copy_from_slice(p);
                        mask.apply_to_rows(dropped, n, batch.place(text), |query| attention_element(head, query));
                        dropped
                    }
                };
                let out = &mut context[first * heads.hidden + head * heads.size..];
                matmul(MatMut::strided(out, n, heads.size, heads.hidden), false, Mat::new(p, n, n), part(2), 1.0);
                kept_at += n * n;
            }
        }
    }

    /// From the gradient at the context to the gradient at query, key and value, `[tokens, 3 · hidden]`.
    #[expect(clippy::too_many_arguments, reason = "the pass, what it kept, the gradient in and out")]
    pub(super) fn attend_backward(
        &self,
        batch: &TokenBatch,
        group: &Group,
        layer: usize,
        dropout: Option<Dropout>,
        projections: &[f32],
        probabilities: &[f32],
        d_context: &[f32],
        d_projections: &mut [f32],
        buffer: &mut Vec<f32>,
        dropped: &mut Vec<f32>,
    ) {
        let heads = self.heads();
        let mask = self.attention_mask(layer, dropout);
        let width = 3 * heads.hidden;
        let mut kept_at = 0;
        for text in group.texts.clone() {
            let (first, n) = self.rows_of(batch, group, text);
            if n == 0 {
                continue;
            }
            for head in 0..heads.count {
                let column = head * heads.size;
                let rows = &projections[first * width..];
                let part = |which: usize| Mat::strided(&rows[which * heads.hidden + column..], n, heads.size, width);
                let p = &probabilities[kept_at..kept_at + n * n];
                let drop = |mask: Mask, x: &mut [f32]| {
                    mask.apply_to_rows(x, n, batch.place(text), |query| attention_element(head, query));
                };
                let used: &[f32] = match mask {
                    None => p,
                    Some(mask) => {
                        let dropped = sized(dropped, n * n);
                        dropped.copy_from_slice(p);
                        drop(mask, dropped);
                        dropped
                    }
                };
                let d_out = Mat::strided(&d_context[first * heads.hidden + column..], n, heads.size, heads.hidden);
                let d_rows = &mut d_projections[first * width..];
                let d_value = MatMut::strided(&mut d_rows[2 * heads.hidden + column..], n, heads.size, width);
                matmul(d_value, false, Mat::new(used, n, n).t(), d_out, 1.0);
                let d_scores = sized(buffer, n * n);
                matmul(MatMut::new(d_scores, n, n), false, d_out, part(2).t(), 1.0);
                if let Some(mask) = mask {
                    drop(mask, d_scores);
                }
                softmax::softmax_backward_rows(d_scores, p, n);
                let d_query = MatMut::strided(&mut d_rows[column..], n, heads.size, width);
                matmul(d_query, false, Mat::new(d_scores, n, n), part(1), heads.scale);
                let d_key = MatMut::strided(&mut d_rows[heads.hidden + column..], n, heads.size, width);
                matmul(d_key, false, Mat::new(d_scores, n, n).t(), part(0), heads.scale);
                kept_at += n * n;
            }
        }
    }

    /// A text's first row in its group, and its length.
    pub(super) fn rows_of(&self, batch: &TokenBatch, group: &Group, text: usize) -> (usize, usize) {
        let offsets = batch.offsets();
        (offsets[text] - group.tokens.start, offsets[text + 1] - offsets[text])
    }
}
