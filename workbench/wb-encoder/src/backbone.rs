//! The interface between a model and what trains it or encodes with it: token ids to one vector a text, and back from a
//! vector's gradient to the weights'.
//! The states of single tokens are there too, for objectives on tokens and for late interaction.
//!
//! The loss is computed on the embeddings of the whole batch, and its gradient at the embeddings is handed back.
//! So a model needs no automatic differentiation of ours, micro-batches may run in parallel or one after the other,
//! and gradient caching (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup")
//! is this same interface with the forward pass done twice.

use std::any::Any;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};
use wb_core::GroupMaxima;

use crate::{
    batch::TokenBatch,
    error::{Error, Result},
    parameters::{Gradients, Parameters},
    precision::Precision,
    resident::Resident,
    stop::Stop,
};

/// A tracked forward pass, as its backward pass needs it; only the backbone that made it can read it.
pub type BackboneTape = Box<dyn Any + Send>;

/// Dropout of one forward pass: the same seed draws the same masks, so that a pass can be replayed.
///
/// A text's masks depend on the seed and on the text's place in the whole batch ([`TokenBatch::place`]):
/// parts of a batch ([`TokenBatch::part`]), embedded with the same seed, meet the masks of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropout {
    /// Decides every mask of the pass.
    pub seed: u64,
}

/// A model on its device.
pub trait Backbone: Send + Sync {
    /// Length of an embedding.
    fn dim(&self) -> usize;

    /// The weights in host memory, up to date; see [`Resident`] where a training keeps them elsewhere.
    fn parameters(&self) -> &Parameters;

    /// Changes weights (an optimizer step, a checkpoint) and brings the device up to date.
    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()>;

    /// Gradient checkpointing: tracked passes keep the inputs of layers alone, and the backward pass computes the rest
    /// again. An error where a backbone cannot.
    fn set_gradient_checkpointing(&mut self, on: bool) -> Result<()> {
        if !on {
            return Ok(());
        }
        Err(no_layers())
    }

    /// Numbers of the products in passes from now on, of all passes. An error where a backbone has no others.
    fn set_precision(&mut self, precision: Precision) -> Result<()> {
        precision.only_32_bits("the processor", "its kernels train in 32 bits")
    }

    /// Training with everything on the backbone's device; none where a backbone has no memory of its own.
    fn resident(&mut self) -> Option<&mut dyn Resident> {
        None
    }

    /// Counts of what its passes have computed; none where nothing is padded.
    fn padding(&self) -> Option<Padding> {
        None
    }

    /// Lets backward passes leave gradients where they are computed until [`Backbone::collect_gradients`], where the backbone
    /// has a memory of its own.
    fn keep_gradients(&mut self) {}

    /// True where backward passes leave gradients where they were computed until [`Backbone::collect_gradients`], and add
    /// nothing.
    fn keeps_gradients(&self) -> bool {
        false
    }

    /// Adds to `gradients` what backward passes since the last call have left elsewhere: once a step, before anyone reads
    /// them. Most backbones leave nothing.
    fn collect_gradients(&self, _gradients: &mut Gradients) -> Result<()> {
        Ok(())
    }

    /// Drops what [`Backbone::collect_gradients`] would add.
    fn forget_gradients(&self) {}

    /// Its device, as a help to search vectors; none for the processor.
    fn group_maxima(&self) -> Option<Box<dyn GroupMaxima>> {
        None
    }

    /// From now on passes end with [`Error::Stopped`] soon after this is set, in the middle of a batch; a backward pass
    /// that ended so has added nothing. A backbone whose passes are short need not look.
    fn watch(&mut self, _stop: Stop) {}

    /// Pooled embeddings without gradients or dropout, not normalized: `[texts, dim]`.
    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>>;

    /// Pooled embeddings, not normalized: `[texts, dim]`, and what [`Backbone::backward`] needs.
    /// `dropout: None` turns dropout off.
    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, BackboneTape)>;

    /// A tracked pass whose embeddings are known: what [`Backbone::backward`] needs, alone.
    fn track_again(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<BackboneTape> {
        Ok(self.embed_tracked(batch, dropout)?.1)
    }

    /// Adds the gradients of the weights to `gradients`, given the loss's gradient at the embeddings, `[texts, dim]`; see
    /// [`Backbone::keeps_gradients`].
    fn backward(
        &self,
        tape: BackboneTape,
        at_embeddings: ArrayView2<'_, f32>,
        gradients: &mut Gradients,
    ) -> Result<()> {
        self.backward_tokens(tape, Upstream::embeddings(at_embeddings), gradients)
    }

    /// Token states without gradients or dropout: `[tokens, dim]`, texts one after the other as in the batch,
    /// without padding. For a transformer they are what its pooling takes; for a bag, the tokens' vectors.
    fn embed_tokens(&self, _batch: &TokenBatch) -> Result<Array2<f32>> {
        Err(no_token_states())
    }

    /// Pooled embeddings as [`Backbone::embed_tracked`] gives them, token states as [`Backbone::embed_tokens`],
    /// and what [`Backbone::backward_tokens`] needs.
    fn embed_tokens_tracked(
        &self,
        _batch: &TokenBatch,
        _dropout: Option<Dropout>,
    ) -> Result<(Array2<f32>, Array2<f32>, BackboneTape)> {
        Err(no_token_states())
    }

    /// Adds the gradients of the weights, given the loss's gradients at the pooled embeddings, at the token states,
    /// or at both. Takes the tape of either tracked pass.
    fn backward_tokens(&self, _tape: BackboneTape, _at: Upstream<'_>, _gradients: &mut Gradients) -> Result<()> {
        Err(no_token_states())
    }
}

/// Tokens that passes have computed, and places beside shorter texts that were computed for nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Padding {
    /// Tokens of texts.
    pub tokens: u64,
    /// Places without one.
    pub padding: u64,
}

impl Padding {
    /// Share of all places that were computed for nothing.
    pub fn share(self) -> f64 {
        self.padding as f64 / (self.tokens + self.padding).max(1) as f64
    }
}

impl std::iter::Sum for Padding {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            tokens: sum.tokens + one.tokens,
            padding: sum.padding + one.padding,
        })
    }
}

/// The loss's gradients at what a forward pass gave; what is left out has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Upstream<'a> {
    /// Gradient at the pooled embeddings, `[texts, dim]`.
    pub embeddings: Option<ArrayView2<'a, f32>>,
    /// Gradient at the token states, `[tokens, dim]`.
    pub states: Option<ArrayView2<'a, f32>>,
}

impl<'a> Upstream<'a> {
    /// A gradient at the pooled embeddings alone.
    pub fn embeddings(at: ArrayView2<'a, f32>) -> Self {
        Self { embeddings: Some(at), states: None }
    }

    /// A gradient at the token states alone.
    pub fn states(at: ArrayView2<'a, f32>) -> Self {
        Self { embeddings: None, states: Some(at) }
    }

    /// Refuses shapes that a batch of so many texts and tokens does not have.
    pub(crate) fn check(&self, batch: &TokenBatch, dim: usize) -> Result<()> {
        let wanted = [
            ("gradient at the embeddings", self.embeddings, batch.len()),
            ("gradient at the token states", self.states, batch.ids().len()),
        ];
        for (what, at, rows) in wanted {
            if let Some(at) = at.filter(|at| at.dim() != (rows, dim)) {
                let message = format!("has shape {:?}, expected {:?}", at.dim(), (rows, dim));
                return Err(Error::data(what, message));
            }
        }
        Ok(())
    }
}

/// The error of a backbone that has nothing to compute again.
pub(crate) fn no_layers() -> Error {
    let message = "needs a transformer, and this is none";
    Error::value("train.gradient_checkpointing", message)
        .with_hint("train.gradient_checkpointing=false; less memory also with train.batch.micro_tokens")
}

fn no_token_states() -> Error {
    Error::data("token states", "this backbone gives none, expected one that does")
}
