//! From token states to one vector a text, and gradients back.

use ndarray::ArrayView2;

use super::groups::Group;
use crate::{backbone::Upstream, batch::TokenBatch, kernels::vector, pooling::Pooling};

/// A text's first row in its group, and its length.
pub fn rows_of(batch: &TokenBatch, group: &Group, text: usize) -> (usize, usize) {
    let offsets = batch.offsets();
    (offsets[text] - group.tokens.start, offsets[text + 1] - offsets[text])
}

/// Pools a group's states, `[tokens, width]`, into one row a text.
pub fn pool(pooling: Pooling, batch: &TokenBatch, group: &Group, states: &[f32], width: usize, rows: &mut [f32]) {
    for (text, row) in group.texts.clone().zip(rows.chunks_exact_mut(width)) {
        let (first, n) = rows_of(batch, group, text);
        let states = &states[first * width..(first + n) * width];
        if n == 0 {
            continue;
        }
        match pooling {
            Pooling::Cls => row.copy_from_slice(&states[..width]),
            Pooling::Last => row.copy_from_slice(&states[(n - 1) * width..]),
            Pooling::Mean => {
                vector::add_column_sums(row, states);
                row.iter_mut().for_each(|x| *x /= n as f32);
            }
            Pooling::WeightedMean => {
                for (token, state) in states.chunks_exact(width).enumerate() {
                    vector::add_scaled(row, pooling.weight(token, n), state);
                }
            }
        }
    }
}

/// The loss's gradients at a pass's results.
#[derive(Debug, Clone, Copy)]
pub struct AtStates<'a> {
    pub at: Upstream<'a>,
    pub pooling: Pooling,
}

impl AtStates<'_> {
    /// The gradient at a group's states: what comes through the pooled embeddings, and what is given at the states themselves.
    pub fn write(self, batch: &TokenBatch, group: &Group, width: usize, g: &mut [f32]) {
        g.fill(0.0);
        if let Some(at_embeddings) = self.at.embeddings {
            self.unpool(batch, group, width, at_embeddings, g);
        }
        if let Some(at_states) = self.at.states {
            for (g, at) in g.chunks_exact_mut(width).zip(at_states.rows().into_iter().skip(group.tokens.start)) {
                g.iter_mut().zip(at).for_each(|(g, at)| *g += at);
            }
        }
    }

    fn unpool(
        self,
        batch: &TokenBatch,
        group: &Group,
        width: usize,
        at_embeddings: ArrayView2<'_, f32>,
        g: &mut [f32],
    ) {
        for text in group.texts.clone() {
            let (first, n) = rows_of(batch, group, text);
            let at_states = g[first * width..(first + n) * width].chunks_exact_mut(width).enumerate();
            for (token, at_state) in at_states {
                let weight = self.pooling.weight(token, n);
                if weight > 0.0 {
                    at_state.iter_mut().zip(at_embeddings.row(text)).for_each(|(g, e)| *g = e * weight);
                }
            }
        }
    }
}
