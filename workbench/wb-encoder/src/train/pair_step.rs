//! One batch of a cross-encoder to its loss and gradients: each document behind its own anchor.

use super::{
    prefetch::TrainBatch,
    step::{StepOptions, parts},
};
use crate::{
    backbone::{Backbone, Dropout},
    cross_encoder::PairReading,
    error::Result,
    losses::LossOnEmbeddings,
    parameters::Gradients,
};

/// Adds a batch's gradients to `gradients` and returns its loss, as [`super::step::accumulate`] does of embeddings. In
/// parts the numbers of all are computed first, and each part once more, with the same dropout masks, for its gradients.
/// `tokens` are those of anchors and documents without special tokens.
pub fn accumulate(
    backbone: &dyn Backbone,
    (reading, max_tokens): (&PairReading, usize),
    loss: &LossOnEmbeddings,
    batch: &TrainBatch,
    dropout: Option<Dropout>,
    options: StepOptions<'_>,
    gradients: &mut Gradients,
) -> Result<f64> {
    let pairs = reading.read(&batch.tokens, batch.labels.owners(), max_tokens);
    let parts = parts(&pairs, options.micro_tokens, options.micro_texts);
    let forward = |texts: &std::ops::Range<usize>| {
        options.stop.check()?;
        let (states, tape) = backbone.embed_tracked(&pairs.part(texts.clone()), dropout)?;
        let (numbers, head) = reading.head.numbers(backbone.parameters(), states.view())?;
        Ok::<_, crate::error::Error>((numbers, head, tape))
    };
    let (mut numbers, mut kept) = (Vec::with_capacity(pairs.len()), None);
    for texts in &parts {
        let part = forward(texts)?;
        numbers.extend_from_slice(&part.0);
        kept = (parts.len() == 1).then_some(part);
    }
    let (found, mut at_numbers) = loss.of_numbers(&numbers, &batch.labels)?;
    if !found.is_finite() {
        return Ok(found);
    }
    at_numbers.iter_mut().for_each(|g| *g *= options.weight);
    for texts in &parts {
        let (_, head, tape) = match kept.take() {
            Some(part) => part,
            None => forward(texts)?,
        };
        options.stop.check()?;
        let at = reading.head.backward(backbone.parameters(), &head, &at_numbers[texts.clone()], gradients)?;
        backbone.backward(tape, at.view(), gradients)?;
    }
    Ok(found)
}
