//! The size of an encoder, before anything is opened.

use anyhow::Result;
use wb_encoder::Parameter;

use crate::{
    config::{EncoderConfig, Experiment, ModelChoice},
    encoder::{adapted, made_up, pretrained_or_like_it},
    lints,
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
    /// Bytes of weights, gradients and two moments of what is trained; activations come on top.
    pub bytes: usize,
    /// Length of an embedding.
    pub dim: usize,
    /// Sentences about what is allowed of it and probably not meant.
    pub lints: Vec<String>,
}

/// The size of the encoder that an experiment begins with; a pretrained one is looked at without its weights.
pub fn size(experiment: &Experiment, config: &EncoderConfig) -> Result<Size> {
    if let ModelChoice::Pretrained(pretrained) = &config.model {
        let own = pretrained_or_like_it(pretrained, experiment)?;
        let lints = lints::of_encoder(config, &own);
        let folder = adapted(own, experiment)?;
        let (all, trainable) = folder.model.parameters.counts();
        let reads = if folder.pair_reading.is_some() { "a cross-encoder on " } else { "" };
        let what = format!("{}, {reads}{}", folder.name, folder.describe());
        let bytes = folder.model.parameters.iter().map(Parameter::bytes).sum::<usize>() + 3 * 4 * trainable;
        return Ok(Size { dim: folder.dim(), what, all, trainable, bytes, lints });
    }
    if let Some((teacher, _)) = config.from_teacher() {
        let folder = made_up(experiment)?;
        let (all, trainable) = folder.model.parameters.counts();
        let what = format!("a bag of token vectors made from {}", teacher.id);
        return Ok(Size { dim: folder.dim(), what, all, trainable, bytes: 4 * 4 * all, lints: Vec::new() });
    }
    if config.cross_encoder.is_some() {
        let folder = made_up(experiment)?;
        let (all, trainable) = folder.model.parameters.counts();
        let (what, bytes) = ("a cross-encoder on a transformer from scratch".to_owned(), 4 * 4 * all);
        return Ok(Size { dim: folder.dim(), what, all, trainable, bytes, lints: Vec::new() });
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
    Ok(Size { what: format!("{what} from scratch"), all: n, trainable: n, bytes: 4 * 4 * n, dim, lints: Vec::new() })
}
