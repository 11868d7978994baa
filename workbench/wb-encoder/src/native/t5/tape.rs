//! What a tracked forward pass keeps of one group of texts.

use crate::kernels::normalize::Normalized;

/// Kept of a group.
#[derive(Debug, Default)]
pub struct GroupTape {
    /// What each layer kept; of no meaning with gradient checkpointing.
    pub layers: Vec<LayerTape>,
    /// With gradient checkpointing, each layer's input, `[tokens, d_model]`: the rest is computed again.
    pub inputs: Vec<Vec<f32>>,
    /// Whether it was made with gradient checkpointing.
    pub checkpointed: bool,
    /// The normalization after the last layer.
    pub final_norm: Normalized,
}

/// Kept of a layer. Inputs of linear layers that are outputs of a normalization or of the gate are made again.
#[derive(Debug, Default)]
pub struct LayerTape {
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

impl GroupTape {
    /// How many numbers the backward pass will read here.
    #[cfg(test)]
    pub fn numbers(&self) -> usize {
        let of_norm = |norm: &Normalized| norm.unit.len() + norm.inverse_deviation.len();
        let of_layer = |layer: &LayerTape| {
            let kept = [&layer.projections, &layer.probabilities, &layer.context, &layer.inner];
            kept.into_iter().map(Vec::len).sum::<usize>()
                + of_norm(&layer.attention_norm)
                + of_norm(&layer.feed_forward_norm)
        };
        let kept: usize = match self.checkpointed {
            true => self.inputs.iter().map(Vec::len).sum(),
            false => self.layers.iter().map(of_layer).sum(),
        };
        of_norm(&self.final_norm) + kept
    }
}
