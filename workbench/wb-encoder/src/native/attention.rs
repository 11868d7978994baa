//! Attention inside each text, head by head, forward and backward: all its tokens ask, and those that are attended to
//! ([`keys`](crate::batch::TokenBatch::keys) of them) and in reach answer.

use std::ops::Range;

use super::{distances::Distances, dropout_mask::Mask, linear::GroupPass, pool::sized, states::rows_of};
use crate::{
    dropout::attention_element,
    kernels::{Mat, MatMut, matmul, softmax},
    models::stack::{HeadSizes, Reach},
};

/// Texts of more tokens than this are asked about in blocks of [`BLOCK`] queries where no probabilities are kept, so
/// that memory does not grow with the square of their length, and queries of a short reach cost what they look at.
const WHOLE: usize = 512;
const BLOCK: usize = 256;

/// A layer's heads: their sizes, what they see, and what is done to their scores and probabilities. Their parts stand in
/// rows of all queries, keys and values of a token.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    pub sizes: HeadSizes,
    pub reach: Reach,
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

/// Columns of a head's query, key and value.
#[derive(Debug, Clone, Copy)]
struct Columns {
    query: usize,
    key: usize,
    value: usize,
    /// Columns of a row.
    width: usize,
}

impl Heads {
    fn columns(self, head: usize) -> Columns {
        let HeadSizes { count, shared, size, .. } = self.sizes;
        let (queries, keys) = self.sizes.widths();
        let key = queries + head / (count / shared) * size;
        Columns { query: head * size, key, value: key + keys, width: queries + 2 * keys }
    }

    /// Number of probabilities of a group.
    pub fn n_probabilities(&self, pass: GroupPass<'_>) -> usize {
        let of_text = |text: usize| rows_of(pass.batch, pass.group, text).1 * pass.batch.keys(text);
        pass.group.texts.clone().map(of_text).sum::<usize>() * self.sizes.count
    }

    /// The keys that any of these queries sees, of so many; all of them where one would see none.
    fn seen(self, queries: Range<usize>, keys: usize) -> Range<usize> {
        let Reach { before, after } = self.reach;
        match self.sees(queries.end - 1, keys) {
            None => 0..keys,
            Some(_) => queries.start.saturating_sub(before)..queries.end.saturating_add(after).min(keys),
        }
    }

    /// The keys that a query sees, of so many; `None` where there are none in its reach.
    fn sees(self, query: usize, keys: usize) -> Option<Range<usize>> {
        let Reach { before, after } = self.reach;
        let seen = query.saturating_sub(before)..query.saturating_add(1).saturating_add(after).min(keys);
        (!seen.is_empty()).then_some(seen)
    }

    /// Scores of keys out of reach become those that no softmax sees. A query that would see no key sees all of them, as
    /// in transformers.
    fn hide(self, scores: &mut [f32], queries: Range<usize>, columns: &Range<usize>, keys: usize) {
        if self.reach == Reach::ALL {
            return;
        }
        for (row, query) in scores.chunks_exact_mut(columns.len()).zip(queries) {
            let Some(seen) = self.sees(query, keys) else { continue };
            row[..seen.start - columns.start].fill(f32::NEG_INFINITY);
            row[seen.end - columns.start..].fill(f32::NEG_INFINITY);
        }
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
        let HeadSizes { count, size, .. } = self.sizes;
        let inner = count * size;
        if let Some(kept) = keep.as_deref_mut() {
            sized(kept, self.n_probabilities(pass));
        }
        let mut kept_at = 0;
        for text in pass.group.texts.clone() {
            let ((first, n), keys) = (rows_of(pass.batch, pass.group, text), pass.batch.keys(text));
            if n == 0 {
                continue;
            }
            let block = if keep.is_some() || n <= WHOLE { n } else { BLOCK };
            for head in 0..count {
                let at = self.columns(head);
                let rows = &projections[first * at.width..];
                let part = |column: usize, rows_at: usize, n| {
                    Mat::strided(&rows[rows_at * at.width + column..], n, size, at.width)
                };
                for start in (0..n).step_by(block) {
                    let queries = start..(start + block).min(n);
                    let (m, columns) =
                        (queries.len(), if keep.is_some() { 0..keys } else { self.seen(queries.clone(), keys) });
                    let p = match keep.as_deref_mut() {
                        Some(kept) => &mut kept[kept_at..kept_at + n * keys],
                        None => sized(probabilities, m * columns.len()),
                    };
                    let key = part(at.key, columns.start, columns.len());
                    matmul(MatMut::new(p, m, columns.len()), false, part(at.query, start, m), key.t(), self.scale());
                    if let Some(bias) = bias {
                        bias.add_to(head, p, start, &columns);
                    }
                    self.hide(p, queries, &columns, keys);
                    softmax::softmax_rows(p, columns.len());
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
                    let out = &mut context[(first + start) * inner + head * size..];
                    let value = part(at.value, columns.start, columns.len());
                    matmul(MatMut::strided(out, m, size, inner), false, Mat::new(p, m, columns.len()), value, 1.0);
                }
                kept_at += n * keys;
            }
        }
    }

    /// From the gradient at the context to the gradient at query, key and value, rows as those of the projections;
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
        let HeadSizes { count, shared, size, .. } = self.sizes;
        let inner = count * size;
        let mut kept_at = 0;
        for text in pass.group.texts.clone() {
            let ((first, n), keys) = (rows_of(pass.batch, pass.group, text), pass.batch.keys(text));
            if n == 0 {
                continue;
            }
            for head in 0..count {
                let at = self.columns(head);
                // Heads that share a key and a value add their gradients there.
                let again = !head.is_multiple_of(count / shared);
                let rows = &projections[first * at.width..];
                let part = |column: usize, n| Mat::strided(&rows[column..], n, size, at.width);
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
                let d_out = Mat::strided(&d_context[first * inner + head * size..], n, size, inner);
                let d_rows = &mut d_projections[first * at.width..];
                // Keys and values that nobody asks.
                for row in d_rows.chunks_mut(at.width).take(n).skip(keys) {
                    row[at.key..][..size].fill(0.0);
                    row[at.value..][..size].fill(0.0);
                }
                let d_value = MatMut::strided(&mut d_rows[at.value..], keys, size, at.width);
                matmul(d_value, again, Mat::new(used, n, keys).t(), d_out, 1.0);
                let d_scores = sized(buffer, n * keys);
                matmul(MatMut::new(d_scores, n, keys), false, d_out, part(at.value, keys).t(), 1.0);
                if let Some(mask) = self.mask {
                    drop(mask, d_scores);
                }
                softmax::softmax_backward_rows(d_scores, p, keys);
                if let Some(d_bias) = d_bias.as_deref_mut() {
                    d_bias.add(head, d_scores, keys);
                }
                let d_query = MatMut::strided(&mut d_rows[at.query..], n, size, at.width);
                matmul(d_query, false, Mat::new(d_scores, n, keys), part(at.key, keys), self.scale());
                let d_key = MatMut::strided(&mut d_rows[at.key..], keys, size, at.width);
                matmul(d_key, again, Mat::new(d_scores, n, keys).t(), part(at.query, n), self.scale());
                kept_at += n * keys;
            }
        }
    }

    fn scale(self) -> f32 {
        self.sizes.scale as f32
    }
}
