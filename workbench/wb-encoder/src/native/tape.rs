//! The tape of a group of texts: values of the tracked forward pass through a transformer.

use crate::kernels::normalize::Normalized;

/// Kept of a group, by a network whose layers keep an `L` each.
#[derive(Debug, Default)]
pub struct GroupTape<L> {
    /// The normalization outside of the layers: BERT's of the embeddings, T5's after the last layer.
    pub norm: Normalized,
    /// Tapes of the layers; of no meaning with gradient checkpointing.
    pub layers: Vec<L>,
    /// Inputs of the layers, `[tokens, width]`, with gradient checkpointing: the rest is computed again.
    pub inputs: Vec<Vec<f32>>,
    /// True where it was made with gradient checkpointing.
    pub checkpointed: bool,
}

impl<L: Default> GroupTape<L> {
    /// Takes the group through all layers. `run` runs one with its tape; `checkpointed`, it is given a place for the
    /// layer's input too, of which alone something is kept (Chen et al. 2016, arXiv 1604.06174, one checkpoint a layer).
    /// The way with a tape is then taken all the same, and `overwritten`: its sums are in the order of the plain tracked
    /// pass.
    pub fn forward(
        &mut self,
        layers: usize,
        checkpointed: bool,
        overwritten: &mut L,
        mut run: impl FnMut(usize, &mut L, Option<&mut Vec<f32>>),
    ) {
        self.checkpointed = checkpointed;
        if checkpointed {
            self.inputs.resize_with(layers, Vec::new);
            for (layer, input) in self.inputs.iter_mut().enumerate() {
                input.clear();
                run(layer, overwritten, Some(input));
            }
        } else {
            self.layers.resize_with(layers, L::default);
            for (layer, tape) in self.layers.iter_mut().enumerate() {
                run(layer, tape, None);
            }
        }
    }

    /// Number of numbers that the backward pass will read here.
    #[cfg(test)]
    pub fn numbers(&self, of_layer: impl Fn(&L) -> usize) -> usize {
        let kept: usize = match self.checkpointed {
            true => self.inputs.iter().map(Vec::len).sum(),
            false => self.layers.iter().map(of_layer).sum(),
        };
        self.norm.numbers() + kept
    }
}
