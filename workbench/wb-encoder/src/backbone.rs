//! What training and encoding ask of a model: token ids to one vector a text, and back from a vector's gradient to the weights'.
//!
//! The loss is computed on the embeddings of the whole batch, and its gradient at the embeddings is handed back.
//! So a model needs no automatic differentiation of ours, micro-batches may run in parallel or one after the other,
//! and gradient caching (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup")
//! is this same interface with the forward pass done twice.

use std::any::Any;

use ndarray::{Array2, ArrayView2};

use crate::{Gradients, Parameters, Result, TokenBatch};

/// What a tracked forward pass keeps for its backward pass; only the backbone that made it can read it.
pub type Tape = Box<dyn Any + Send>;

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

    /// The weights in host memory, up to date.
    fn parameters(&self) -> &Parameters;

    /// Changes weights (an optimizer step, a checkpoint) and brings the device up to date.
    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()>;

    /// Pooled embeddings without gradients or dropout, not normalized: `[texts, dim]`.
    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>>;

    /// Pooled embeddings, not normalized: `[texts, dim]`, and what [`Backbone::backward`] needs.
    /// `dropout: None` turns dropout off.
    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, Tape)>;

    /// Adds the gradients of the weights to `gradients`, given the loss's gradient at the embeddings, `[texts, dim]`.
    fn backward(&self, tape: Tape, at_embeddings: ArrayView2<'_, f32>, gradients: &mut Gradients) -> Result<()>;
}
