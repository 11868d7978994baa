//! A cross-encoder's backward pass: from a loss's gradient at its numbers to all weights.

use std::path::Path;

use super::{PairTokens, head::HeadTape};
use crate::{
    backbone::{Backbone, BackboneTape, Dropout},
    batch::TokenBatch,
    error::Result,
    folder::cross_encoder::{self, CrossFolder},
    models::Model,
    native,
    parameters::Gradients,
    pooling::Pooling,
};

/// A cross-encoder on the processor whose weights have gradients.
pub struct TrainedCrossEncoder {
    folder: CrossFolder,
    backbone: Box<dyn Backbone>,
}

/// A tracked pass, as its backward pass needs it.
pub struct PairTape {
    backbone: BackboneTape,
    head: HeadTape,
}

/// Gradients of a cross-encoder's weights.
pub struct PairGradients {
    /// Gradients of the network, in the order of its weights.
    pub backbone: Gradients,
    /// Gradients of the head, by name.
    pub head: Vec<(String, Vec<f32>)>,
}

impl TrainedCrossEncoder {
    /// Reads a folder as [`CrossEncoder::read`](super::CrossEncoder::read) does.
    pub fn read(path: &Path) -> Result<Self> {
        let mut folder = cross_encoder::read(path)?;
        let parameters = std::mem::take(&mut folder.parameters);
        let architecture = folder.architecture();
        let backbone = native::open(Model { architecture, parameters, pooling: Pooling::Cls, adapter: None })?;
        Ok(Self { folder, backbone })
    }

    /// The network, without the head.
    pub fn backbone(&self) -> &dyn Backbone {
        self.backbone.as_ref()
    }

    /// The numbers of pairs before the activation, `[pairs]`, and what [`TrainedCrossEncoder::backward`] needs.
    /// `dropout: None` turns dropout off.
    pub fn numbers(&self, pairs: &[PairTokens], dropout: Option<Dropout>) -> Result<(Vec<f32>, PairTape)> {
        let types = pairs.iter().flat_map(|pair| &pair.types).copied().collect();
        let batch = TokenBatch::new(pairs.iter().map(|pair| pair.ids.as_slice())).with_types(types);
        let (states, backbone) = self.backbone.embed_tracked(&batch, dropout)?;
        let (numbers, head) = self.folder.head.numbers(states.view());
        Ok((numbers, PairTape { backbone, head }))
    }

    /// The gradients of all weights, given the loss's gradient at the numbers, `[pairs]`.
    pub fn backward(&self, tape: PairTape, at_numbers: &[f32]) -> Result<PairGradients> {
        let (of_head, at_states) = self.folder.head.backward(&tape.head, at_numbers);
        let mut backbone = Gradients::zeros(self.backbone.parameters());
        self.backbone.backward(tape.backbone, at_states.view(), &mut backbone)?;
        let names = self.folder.head.weights().map(|(name, _)| name.to_owned());
        Ok(PairGradients { backbone, head: names.zip(of_head).collect() })
    }
}
