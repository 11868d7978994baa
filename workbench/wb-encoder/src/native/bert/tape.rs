//! The tape of one layer of a BERT: values of the tracked forward pass.

use crate::kernels::normalize::Normalized;

/// Kept of a layer. Inputs of linear layers that are outputs of a normalization are made again from it.
#[derive(Debug, Default)]
pub struct BertLayerTape {
    /// Query, key and value, `[tokens, 3 · hidden]`.
    pub projections: Vec<f32>,
    /// Attention probabilities after dropout's seed is known: before dropout, text by text, head by head, `[tokens, tokens that are attended to]`.
    pub probabilities: Vec<f32>,
    /// The heads' outputs, `[tokens, hidden]`; empty where nothing needs them.
    pub context: Vec<f32>,
    pub attention_norm: Normalized,
    /// Input of the activation, `[tokens, intermediate]`.
    pub before_activation: Vec<f32>,
    pub output_norm: Normalized,
}

#[cfg(test)]
impl BertLayerTape {
    /// Number of numbers that the backward pass will read here.
    pub fn numbers(&self) -> usize {
        let kept = [&self.projections, &self.probabilities, &self.context, &self.before_activation];
        kept.into_iter().map(Vec::len).sum::<usize>() + self.attention_norm.numbers() + self.output_norm.numbers()
    }
}
