//! An encoder as it is at one moment of a training: the backbone of the loop, with the texts tokenized as training does.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use wb_core::{
    Embeddings, Encoder, GroupMaxima, Interaction, Progress, Side, encoder::EncodeError, fingerprint::Fingerprint,
};

use super::{
    token_cache::{Tokenize, TokenizeRequest},
    views::PromptsConfig,
};
use crate::{
    backbone::Backbone,
    error::{Error, Result},
    late_interaction::LateInteraction,
    text_vectors::TextVectors,
};

/// Texts that are tokenized and encoded together.
const WINDOW: usize = 4096;

/// Encodes with the weights of the moment. Prompts are those of training that no data set has for itself.
pub struct Moment<'a> {
    /// The model.
    pub backbone: &'a dyn Backbone,
    /// The step from token states to one vector each, where the encoder gives those.
    pub late_interaction: Option<&'a LateInteraction>,
    /// Text to token ids.
    pub tokenize: &'a Tokenize<'a>,
    /// Training's prompts.
    pub prompts: &'a PromptsConfig,
    /// Set from outside to break off; encoding is an error then.
    pub stop: &'a AtomicBool,
}

impl Moment<'_> {
    fn tokens(&self, texts: &[&str], side: Side) -> Result<Vec<Vec<u32>>> {
        let prompt = self.prompts.of_column(side);
        texts.par_iter().map(|text| (self.tokenize)(TokenizeRequest { text, side, prompt, max_tokens: None })).collect()
    }
}

impl Encoder for Moment<'_> {
    fn name(&self) -> String {
        "the encoder in training".to_owned()
    }

    fn dim(&self) -> usize {
        self.late_interaction.map_or_else(|| self.backbone.dim(), LateInteraction::dim)
    }

    /// A fingerprint of its weights.
    fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::builder();
        for parameter in self.backbone.parameters().iter() {
            parameter.values.add_to(fingerprint.text(&parameter.name));
        }
        fingerprint.finish()
    }

    fn interaction(&self) -> Interaction {
        if self.late_interaction.is_some() { Interaction::MaxSim } else { Interaction::InnerProduct }
    }

    fn group_maxima(&self) -> Option<Box<dyn GroupMaxima>> {
        self.backbone.group_maxima()
    }

    fn encode(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, EncodeError> {
        const STAGE: &str = "encoding for new hard negatives";
        let (mut all, mut done) = (TextVectors::new(self.late_interaction, self.backbone, texts.len()), 0);
        progress(Progress::new(STAGE, 0, texts.len()));
        for window in texts.chunks(WINDOW) {
            let ids = self.tokens(window, side)?;
            all.append(self.backbone, &ids, side, &mut |count, _| {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Error::failed("stopped"));
                }
                done += count;
                progress(Progress::new(STAGE, done, texts.len()));
                Ok(())
            })?;
        }
        Ok(all.finish()?)
    }
}
