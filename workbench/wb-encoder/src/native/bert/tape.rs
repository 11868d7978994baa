//! What a tracked forward pass keeps of one group of texts.

use crate::kernels::normalize::Normalized;

/// Kept of a group.
#[derive(Debug, Default)]
pub struct GroupTape {
    /// The layer normalization of the embeddings.
    pub embeddings: Normalized,
    /// What each layer kept; of no meaning with gradient checkpointing.
    pub layers: Vec<LayerTape>,
    /// With gradient checkpointing, each layer's input, `[tokens, hidden]`: the rest is computed again.
    pub inputs: Vec<Vec<f32>>,
    /// Whether it was made with gradient checkpointing.
    pub checkpointed: bool,
}

impl GroupTape {
    /// How many numbers the backward pass will read here.
    #[cfg(test)]
    pub fn numbers(&self) -> usize {
        let of_norm = |norm: &Normalized| norm.unit.len() + norm.inverse_deviation.len();
        let of_layer = |layer: &LayerTape| {
            layer.projections.len()
                + layer.probabilities.len()
                + layer.context.len()
                + layer.before_activation.len()
                + of_norm(&layer.attention_norm)
                + of_norm(&layer.output_norm)
        };
        let kept: usize = match self.checkpointed {
            true => self.inputs.iter().map(Vec::len).sum(),
            false => self.layers.iter().map(of_layer).sum(),
        };
        of_norm(&self.embeddings) + kept
    }
}

/// Kept of a layer. Inputs of linear layers that are outputs of a normalization are made again from it.
#[derive(Debug, Default)]
pub struct LayerTape {
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
