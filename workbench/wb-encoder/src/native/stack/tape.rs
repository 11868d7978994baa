//! The tape of a group of texts: values of the tracked forward pass.

use crate::kernels::normalize::Normalized;

/// Kept of a group.
#[derive(Debug, Default)]
pub struct GroupTape {
    /// The embeddings' normalization.
    pub embedding_norm: Normalized,
    /// Tapes of the layers; of no meaning with gradient checkpointing.
    pub layers: Vec<LayerTape>,
    /// Inputs of the layers, `[tokens, width]`, with gradient checkpointing: the rest is computed again.
    pub inputs: Vec<Vec<f32>>,
    /// True where it was made with gradient checkpointing.
    pub checkpointed: bool,
    /// The normalization after the last layer.
    pub final_norm: Normalized,
}

/// Kept of a layer. Inputs of linear layers that are outputs of a normalization or of the feed-forward part's activation
/// are made again.
#[derive(Debug, Default)]
pub struct LayerTape {
    pub attention_norm: Normalized,
    /// Query, key and value as the scores take them, `[tokens, queries + keys + values]`.
    pub projections: Vec<f32>,
    /// Normalizations of the heads' queries, and keys.
    pub head_norms: [Normalized; 2],
    /// Attention probabilities before dropout, text by text, head by head, `[tokens, tokens that are attended to]`.
    pub probabilities: Vec<f32>,
    /// The heads' outputs, `[tokens, queries]`; empty where nothing needs them.
    pub context: Vec<f32>,
    pub attention_update_norm: Normalized,
    pub feed_forward_norm: Normalized,
    /// Input of the activation, `[tokens, wide]`; with a gate, both side by side, `[tokens, 2 · wide]`.
    pub inner: Vec<f32>,
    pub feed_forward_update_norm: Normalized,
}

impl GroupTape {
    /// Takes the group through all layers. `run` runs one with its tape; `checkpointed`, it is given a place for the
    /// layer's input too, of which alone something is kept (Chen et al. 2016, arXiv 1604.06174, one checkpoint a layer).
    /// The way with a tape is then taken all the same, and `overwritten`: its sums are in the order of the plain tracked
    /// pass.
    pub fn forward(
        &mut self,
        layers: usize,
        checkpointed: bool,
        overwritten: &mut LayerTape,
        mut run: impl FnMut(usize, &mut LayerTape, Option<&mut Vec<f32>>),
    ) {
        self.checkpointed = checkpointed;
        if checkpointed {
            self.inputs.resize_with(layers, Vec::new);
            for (layer, input) in self.inputs.iter_mut().enumerate() {
                input.clear();
                run(layer, overwritten, Some(input));
            }
        } else {
            self.layers.resize_with(layers, LayerTape::default);
            for (layer, tape) in self.layers.iter_mut().enumerate() {
                run(layer, tape, None);
            }
        }
    }

    /// Number of numbers that the backward pass will read here.
    #[cfg(test)]
    pub fn numbers(&self) -> usize {
        let kept: usize = match self.checkpointed {
            true => self.inputs.iter().map(Vec::len).sum(),
            false => self.layers.iter().map(LayerTape::numbers).sum(),
        };
        self.embedding_norm.numbers() + self.final_norm.numbers() + kept
    }
}

#[cfg(test)]
impl LayerTape {
    fn numbers(&self) -> usize {
        let kept = [&self.projections, &self.probabilities, &self.context, &self.inner];
        let of_updates = [&self.attention_update_norm, &self.feed_forward_update_norm];
        let norms = self.head_norms.iter().chain([&self.attention_norm, &self.feed_forward_norm]).chain(of_updates);
        kept.into_iter().map(Vec::len).sum::<usize>() + norms.map(Normalized::numbers).sum::<usize>()
    }
}
