//! What a tracked forward pass keeps of one group of texts.

use crate::kernels::normalize::Normalized;

/// Kept of a group.
#[derive(Debug, Default)]
pub struct GroupTape {
    /// The layer normalization of the embeddings.
    pub embeddings: Normalized,
    pub layers: Vec<LayerTape>,
}

/// Kept of a layer. Inputs of linear layers that are outputs of a normalization are made again from it.
#[derive(Debug, Default)]
pub struct LayerTape {
    /// Query, key and value, `[tokens, 3 · hidden]`.
    pub projections: Vec<f32>,
    /// Attention probabilities after dropout's seed is known: before dropout, text by text, head by head, `[length, length]`.
    pub probabilities: Vec<f32>,
    /// The heads' outputs, `[tokens, hidden]`; empty where nothing needs them.
    pub context: Vec<f32>,
    pub attention_norm: Normalized,
    /// Input of the activation, `[tokens, intermediate]`.
    pub before_activation: Vec<f32>,
    pub output_norm: Normalized,
}
