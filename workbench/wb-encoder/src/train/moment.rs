//! An encoder as it is at one moment of a training: the backbone of the loop, with the texts tokenized as training does.

use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::Array2;
use rayon::prelude::*;
use wb_core::{Embeddings, Encoder, Interaction, Progress, Side, encoder::EncodeError, fingerprint::Fingerprint};

use super::{
    token_cache::{Tokenize, TokenizeRequest},
    views::PromptsConfig,
};
use crate::{
    backbone::Backbone,
    batch::TokenBatch,
    bi_encoder::by_length,
    error::Result,
    late_interaction::{LateInteraction, TokenVectors},
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

    fn embed_texts(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, EncodeError> {
        let mut all = Array2::zeros((texts.len(), self.dim()));
        let mut done = 0;
        progress(Progress::new("encoding for new hard negatives", 0, texts.len()));
        for (number, window) in texts.chunks(WINDOW).enumerate() {
            let ids = self.tokens(window, side)?;
            for group in by_length(&ids) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err("stopped".into());
                }
                let rows = self.backbone.embed(&TokenBatch::new(group.iter().map(|at| ids[*at].as_slice())))?;
                for (row, at) in rows.rows().into_iter().zip(&group) {
                    all.row_mut(number * WINDOW + at).assign(&row);
                }
                done += group.len();
                progress(Progress::new("encoding for new hard negatives", done, texts.len()));
            }
        }
        Ok(Embeddings::dense(all))
    }

    fn embed_tokens(
        &self,
        late: &LateInteraction,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, EncodeError> {
        let (mut all, mut done) = (TokenVectors::new(late.dim()), 0);
        progress(Progress::new("encoding for new hard negatives", 0, texts.len()));
        for window in texts.chunks(WINDOW) {
            if self.stop.load(Ordering::Relaxed) {
                return Err("stopped".into());
            }
            let ids = self.tokens(window, side)?;
            let mut each = |count, _| {
                done += count;
                progress(Progress::new("encoding for new hard negatives", done, texts.len()));
                Ok(())
            };
            all.append(late, self.backbone, &ids, side, &mut each)?;
        }
        Ok(all.finish()?)
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
            fingerprint.text(&parameter.name).floats(&parameter.values);
        }
        fingerprint.finish()
    }

    fn interaction(&self) -> Interaction {
        if self.late_interaction.is_some() { Interaction::MaxSim } else { Interaction::InnerProduct }
    }

    fn encode(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, EncodeError> {
        match self.late_interaction {
            Some(late) => self.embed_tokens(late, texts, side, progress),
            None => self.embed_texts(texts, side, progress),
        }
    }
}
