//! One batch to its loss and gradients: at once, or in parts with cached gradients.

use std::ops::Range;

use ndarray::{Array2, s};
use wb_core::Seed;

use super::prefetch::TrainBatch;
use crate::{Backbone, Dropout, Gradients, Result, Tape, TokenBatch, losses::LossOnEmbeddings};

/// How a batch's gradients are computed.
#[derive(Debug, Clone, Copy)]
pub struct StepOptions {
    /// Draws dropout masks; `None` for no dropout.
    pub dropout: Option<Seed>,
    /// Parts of at most so many tokens with cached gradients; 0 for the batch at once.
    pub micro_tokens: usize,
    /// What the gradients are multiplied by: 1 / batches of the step.
    pub weight: f32,
}

/// Adds a batch's gradients to `gradients` and returns its loss. `number` counts batches over the whole training,
/// and with the seed decides the dropout masks. A loss that is not a finite number leaves `gradients` alone.
///
/// In parts this is Gao et al. 2021: every part is embedded without keeping what its backward pass needs;
/// the loss of the whole batch gives the gradient at each embedding; then every part is embedded again
/// with the same dropout masks, and its own rows of that gradient go back through it.
/// A text's masks depend on its place in the batch and not on the parts, so that loss and gradients are those of the whole batch.
pub fn accumulate(
    backbone: &dyn Backbone,
    loss: &LossOnEmbeddings,
    batch: &TrainBatch,
    number: u64,
    options: StepOptions,
    gradients: &mut Gradients,
) -> Result<f64> {
    let parts = parts(&batch.tokens, options.micro_tokens);
    let cached = parts.len() > 1;
    let dropout = options.dropout.map(|seed| Dropout { seed: seed.number_at("dropout", number) });
    let embed = |part: usize| -> Result<(Array2<f32>, Tape)> {
        if !cached {
            return backbone.embed_tracked(&batch.tokens, dropout);
        }
        backbone.embed_tracked(&batch.tokens.part(parts[part].clone()), dropout)
    };
    let mut embeddings = Array2::zeros((batch.tokens.len(), backbone.dim()));
    let mut kept = None;
    for (part, texts) in parts.iter().enumerate() {
        let (rows, tape) = embed(part)?;
        embeddings.slice_mut(s![texts.clone(), ..]).assign(&rows);
        kept = (!cached).then_some(tape);
    }

    let anchors = batch.pairs.len();
    let found =
        loss.forward_backward(embeddings.slice(s![..anchors, ..]), embeddings.slice(s![anchors.., ..]), &batch.blocked);
    if !found.loss.is_finite() {
        return Ok(found.loss);
    }
    let mut at_embeddings = stack(&found.at_anchors, &found.at_documents);
    if options.weight != 1.0 {
        at_embeddings.mapv_inplace(|g| g * options.weight);
    }

    for (part, texts) in parts.iter().enumerate() {
        let tape = match kept.take() {
            Some(tape) => tape,
            None => embed(part)?.1,
        };
        backbone.backward(tape, at_embeddings.slice(s![texts.clone(), ..]), gradients)?;
    }
    Ok(found.loss)
}

fn stack(anchors: &Array2<f32>, documents: &Array2<f32>) -> Array2<f32> {
    let mut all = Array2::zeros((anchors.nrows() + documents.nrows(), anchors.ncols()));
    all.slice_mut(s![..anchors.nrows(), ..]).assign(anchors);
    all.slice_mut(s![anchors.nrows().., ..]).assign(documents);
    all
}

/// Neighbouring texts of together at most `limit` tokens, or one text that is longer; everything where `limit` is 0.
pub(super) fn parts(tokens: &TokenBatch, limit: usize) -> Vec<Range<usize>> {
    if limit == 0 {
        return std::iter::once(0..tokens.len()).collect();
    }
    let mut parts = Vec::new();
    let (mut start, mut sum) = (0, 0);
    for (text, ends) in tokens.offsets().windows(2).enumerate() {
        let length = ends[1] - ends[0];
        if text > start && sum + length > limit {
            parts.push(start..text);
            (start, sum) = (text, 0);
        }
        sum += length;
    }
    parts.push(start..tokens.len());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_neighbours_up_to_the_limit() {
        let lengths = [3usize, 3, 3, 9, 1, 1];
        let texts: Vec<Vec<u32>> = lengths.iter().map(|n| vec![0; *n]).collect();
        let tokens = TokenBatch::new(texts.iter().map(Vec::as_slice));
        assert_eq!(parts(&tokens, 0), vec![0..6]);
        assert_eq!(parts(&tokens, 6), [0..2, 2..3, 3..4, 4..6]);
        assert_eq!(parts(&tokens, 100), vec![0..6]);
        assert_eq!(parts(&tokens, 1), [0..1, 1..2, 2..3, 3..4, 4..5, 5..6]);
    }
}
