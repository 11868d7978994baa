//! The size of an encoder, before anything is opened.

use anyhow::Result;

use crate::{
    config::{EncoderConfig, Experiment, ModelChoice},
    encoder::made_up,
};

/// The size of an encoder.
#[derive(Debug, Clone)]
pub struct Size {
    /// The encoder in words.
    pub what: String,
    /// Numbers in all.
    pub all: usize,
    /// Numbers that are trained.
    pub trainable: usize,
    /// Length of an embedding.
    pub dim: usize,
}

/// The size of the encoder that an experiment begins with; a pretrained one is looked at without its weights.
pub fn size(experiment: &Experiment, config: &EncoderConfig) -> Result<Size> {
    if let ModelChoice::Pretrained(_) = &config.model {
        let folder = made_up(experiment)?;
        let (all, trainable) = folder.model.parameters.counts();
        return Ok(Size { dim: folder.dim(), what: folder.name, all, trainable });
    }
    let architecture = config.architecture(config.tokenizer.vocab_size);
    let (n, dim) = architecture.map_or((0, 0), |architecture| {
        let numbers = architecture.weights().iter().map(|weight| weight.shape.iter().product::<usize>()).sum();
        (numbers, architecture.dim())
    });
    // The matrix of late interaction, from the width of a state to the length of a token's vector.
    let (n, dim) = config.late_interaction.as_ref().map_or((n, dim), |late| (n + dim * late.dim, late.dim));
    let what =
        if matches!(config.model, ModelChoice::Transformer(_)) { "a transformer" } else { "a bag of token vectors" };
    Ok(Size { what: format!("{what} from scratch"), all: n, trainable: n, dim })
}
