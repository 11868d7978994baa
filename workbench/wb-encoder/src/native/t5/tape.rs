//! The tape of one layer of a T5: values of the tracked forward pass.

use crate::kernels::normalize::Normalized;

/// Kept of a layer. Inputs of linear layers that are outputs of a normalization or of the gate are made again.
#[derive(Debug, Default)]
pub struct T5LayerTape {
    pub attention_norm: Normalized,
    /// Query, key and value, `[tokens, 3 · inner]`.
    pub projections: Vec<f32>,
    /// Attention probabilities before dropout, text by text, head by head, `[length, length]`.
    pub probabilities: Vec<f32>,
    /// The heads' outputs, `[tokens, inner]`; empty where nothing needs them.
    pub context: Vec<f32>,
    pub feed_forward_norm: Normalized,
    /// The gate and what it lets through, `[tokens, 2 · d_ff]`.
    pub inner: Vec<f32>,
}

#[cfg(test)]
impl T5LayerTape {
    /// Number of numbers that the backward pass will read here.
    pub fn numbers(&self) -> usize {
        let kept = [&self.projections, &self.probabilities, &self.context, &self.inner];
        kept.into_iter().map(Vec::len).sum::<usize>() + self.attention_norm.numbers() + self.feed_forward_norm.numbers()
    }
}
